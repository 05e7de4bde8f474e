package fleet

import "time"

// LifetimeClass says whether the provider may take an instance away (spec §36).
type LifetimeClass string

// The lifetime classes. OneJob runners, the specification's third, are a
// RunnerPolicy here.
const (
	LifetimeStable      LifetimeClass = "stable"
	LifetimePreemptible LifetimeClass = "preemptible"
)

// FleetScope says whose jobs a fleet runs (spec §11). The zero value is the whole
// installation; else one of the two is set.
type FleetScope struct {
	Tenant  string `json:"tenant,omitempty"`
	Project string `json:"project,omitempty"`
}

// ScaleUpPolicy limits how fast a fleet grows (spec §127): at most MaxStep instances
// in each Window. MaxStep 0: no limit.
type ScaleUpPolicy struct {
	MaxStep int           `json:"max_step,omitempty"`
	Window  time.Duration `json:"window"`
}

// ScaleDownPolicy keeps a fleet from thrashing (spec §128, §129). IdleGrace is more than
// zero; MaxStep 0: no limit.
type ScaleDownPolicy struct {
	IdleGrace time.Duration `json:"idle_grace"`
	Cooldown  time.Duration `json:"cooldown"`
	MaxStep   int           `json:"max_step,omitempty"`
}

// ScalingSchedule keeps more hosts warm at known times (spec §122).
type ScalingSchedule struct {
	Name string `json:"name"`
	// Cron has five fields and says when it begins, in TimeZone.
	Cron     string        `json:"cron"`
	Duration time.Duration `json:"duration"`
	TimeZone string        `json:"timezone"`
	Warm     int           `json:"warm"`
}

// PlacementPolicy says where instances may be (spec §114). Regions is a hard filter;
// empty lists are no limit.
type PlacementPolicy struct {
	Regions []string `json:"regions,omitempty"`
	Zones   []string `json:"zones,omitempty"`
	Spread  string   `json:"spread"`
	// Required makes Spread a rule instead of a preference.
	Required bool `json:"required,omitempty"`
}

// Values of PlacementPolicy.Spread (spec §115).
const (
	SpreadNone     = "none"
	SpreadZone     = "zone"
	SpreadRegion   = "region"
	SpreadProvider = "provider"
)

// RolloutPolicy says how instances are replaced (spec §66): first Canary of them, and
// after Soak the others, with at most Surge more than wanted and Unavailable
// fewer. Surge and Unavailable are never both zero.
type RolloutPolicy struct {
	Canary      int           `json:"canary"`
	Soak        time.Duration `json:"soak"`
	Surge       int           `json:"surge"`
	Unavailable int           `json:"unavailable"`
}

// CostPolicy is what an instance costs and what may be spent (spec §105, §233). All
// amounts have one currency; zero amounts are not set. Minimum is the shortest time
// that is paid for, and BillingPeriod what is paid for at a time; 0: by the second.
type CostPolicy struct {
	Hourly        Money         `json:"hourly,omitzero"`
	Minimum       time.Duration `json:"minimum,omitempty"`
	BillingPeriod time.Duration `json:"billing_period,omitempty"`
	MaxHourly     Money         `json:"max_hourly,omitzero"`
	MaxDaily      Money         `json:"max_daily,omitzero"`
}

// Forecast names the model that may ask for more than demand does (spec §118, §250).
// The zero value is none.
type Forecast struct {
	Model   string `json:"model"`
	Version int    `json:"version"`
}

// CapacityReservation guarantees capacity for a time (spec §98). It isn't a
// lease of a job (spec §100).
type CapacityReservation struct {
	// ID is of one made by command, Name of one that the file declares.
	ID       CapacityReservationID `json:"id,omitempty"`
	Name     string                `json:"name,omitempty"`
	Class    CapacityClass         `json:"class"`
	Quantity int                   `json:"quantity"`
	Start    time.Time             `json:"start"`
	End      time.Time             `json:"end"`
	// LeadTime is how long before Start the instances are made (spec §230).
	LeadTime time.Duration `json:"lead_time,omitempty"`
	// Fleet is the one that has to have the capacity; empty: any of the class.
	Fleet FleetAddress `json:"fleet,omitempty"`
	// Scope is for whom it is. Dedicated asks for fleets that only they use;
	// else the scheduler's fairness applies, and others' jobs may use it, too (spec §102,
	// §103).
	Scope     FleetScope `json:"scope,omitzero"`
	Dedicated bool       `json:"dedicated,omitempty"`
	// Made says who made one by command.
	Made Attribution `json:"made,omitzero"`
}

// WithDefaults fills in what a fleet stored by an earlier version lacks, so that
// it compares with one that is loaded now.
func (f RunnerFleet) WithDefaults() RunnerFleet {
	if f.Lifetime == "" {
		f.Lifetime = LifetimeStable
	}
	if f.Scaling.ScaleUp == (ScaleUpPolicy{}) {
		f.Scaling.ScaleUp = ScaleUpPolicy{Window: time.Minute}
	}
	if f.Scaling.ScaleDown == (ScaleDownPolicy{}) {
		f.Scaling.ScaleDown = ScaleDownPolicy{IdleGrace: 10 * time.Minute, Cooldown: 5 * time.Minute}
	}
	if f.Placement.Spread == "" {
		f.Placement.Spread = SpreadNone
	}
	if f.Rollout == (RolloutPolicy{}) {
		f.Rollout = RolloutPolicy{Canary: 1, Soak: 15 * time.Minute, Surge: 1}
	}
	return f
}
