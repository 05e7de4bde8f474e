package fleet

import (
	"slices"
	"time"
)

// CapacityReservationID identifies a reservation that was made by command (spec §98).
type CapacityReservationID string

// Overrides are what people decided about an installation beside its file,
// each until it expires or is cleared. They aren't part of a definition: an
// apply neither reports them as drift nor prunes them.
type Overrides struct {
	ScaleOverrides []FleetScaleOverride
	Pins           []RunnerPin
	Freezes        []Freeze
	Quarantines    []Quarantine
	Reservations   []CapacityReservation
	CostOverrides  []CostOverride
	Rollouts       []RolloutOrder
}

// Attribution is who decided something, when and why.
type Attribution struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// FleetScaleOverride replaces min, max or both of a fleet's file for a time
// (spec §177, §178). It may exceed the file's max; nothing else of the file is
// overridden.
type FleetScaleOverride struct {
	Fleet RunnerFleetID `json:"fleet"`
	// Min and Max are nil where the file's number holds.
	Min   *int      `json:"min,omitempty"`
	Max   *int      `json:"max,omitempty"`
	Until time.Time `json:"until"`
	Attribution
}

// Least is the min that replaces the file's.
func (o FleetScaleOverride) Least(declared int) int {
	if o.Min != nil {
		return *o.Min
	}
	return declared
}

// Most is the max that replaces the file's.
func (o FleetScaleOverride) Most(declared int) int {
	if o.Max != nil {
		return *o.Max
	}
	return declared
}

// CostOverride raises or lifts the cost guardrails of a fleet's file for a time
// (spec §237). It relaxes nothing else.
type CostOverride struct {
	Fleet RunnerFleetID `json:"fleet"`
	// MaxHourly and MaxDaily replace the file's amounts where they are larger; zero:
	// the file's holds. Without both of them nothing is limited.
	MaxHourly Money     `json:"max_hourly,omitzero"`
	MaxDaily  Money     `json:"max_daily,omitzero"`
	Until     time.Time `json:"until"`
	Attribution
}

// Lifts says that no guardrail holds while it is in force.
func (b CostOverride) Lifts() bool { return b.MaxHourly.IsZero() && b.MaxDaily.IsZero() }

// Limits are the guardrails that replace the file's; zero: none.
func (b CostOverride) Limits(p CostPolicy) (hourly, daily Money) {
	if b.Lifts() {
		return Money{}, Money{}
	}
	return larger(p.MaxHourly, b.MaxHourly), larger(p.MaxDaily, b.MaxDaily)
}

// larger is an amount of the file, or a larger one of the same currency. Of what
// the file doesn't limit nothing else makes a limit.
func larger(declared, raised Money) Money {
	if raised.Currency == declared.Currency && raised.Micros > declared.Micros {
		return raised
	}
	return declared
}

// RunnerPin keeps an instance from being scaled down or replaced for a time (spec §131, §132).
type RunnerPin struct {
	Instance CapacityInstanceID `json:"instance"`
	Fleet    RunnerFleetID      `json:"fleet"`
	Until    time.Time          `json:"until"`
	Attribution
}

// Freeze limits what the loop does about one fleet, or about all fleets and
// instances of one provider, until it is cleared (spec §133, §134, §137). Fleet or Provider
// is set.
type Freeze struct {
	Fleet    RunnerFleetID   `json:"fleet,omitempty"`
	Provider ProviderAddress `json:"provider,omitempty"`
	// ScaleUpOnly lets instances start and none leave; otherwise nothing changes at
	// the provider.
	ScaleUpOnly bool `json:"scale_up_only,omitempty"`
	Attribution
}

// Quarantine takes instances out of service and lets no new ones start, until it is
// cleared (spec §135, §136). One of Fleet, Instance and Image is set.
type Quarantine struct {
	Fleet    RunnerFleetID      `json:"fleet,omitempty"`
	Instance CapacityInstanceID `json:"instance,omitempty"`
	// Image is the declared digest of an image.
	Image string `json:"image,omitempty"`
	Attribution
}

// ScaleOverride is the one of a fleet that holds at now. One from before the fleet
// was protected, or its hosts joined by a person, has no effect: only the file changes
// their size (spec §18).
func (s Overrides) ScaleOverride(f ManagedFleet, now time.Time) (FleetScaleOverride, bool) {
	n := slices.IndexFunc(
		s.ScaleOverrides,
		func(o FleetScaleOverride) bool { return o.Fleet == f.ID && now.Before(o.Until) },
	)
	if n < 0 || f.Protected || f.Joined {
		return FleetScaleOverride{}, false
	}
	return s.ScaleOverrides[n], true
}

// CostOverride is the one of a fleet that holds at now.
func (s Overrides) CostOverride(f ManagedFleet, now time.Time) (CostOverride, bool) {
	n := slices.IndexFunc(s.CostOverrides, func(b CostOverride) bool { return b.Fleet == f.ID && now.Before(b.Until) })
	if n < 0 {
		return CostOverride{}, false
	}
	return s.CostOverrides[n], true
}

// CostLimits are the guardrails of a fleet that hold at now; zero: none.
func (s Overrides) CostLimits(f ManagedFleet, now time.Time) (hourly, daily Money) {
	if b, holds := s.CostOverride(f, now); holds {
		return b.Limits(f.Cost)
	}
	return f.Cost.MaxHourly, f.Cost.MaxDaily
}

// Pin is the one of an instance that holds at now.
func (s Overrides) Pin(id CapacityInstanceID, now time.Time) (RunnerPin, bool) {
	n := slices.IndexFunc(s.Pins, func(p RunnerPin) bool { return p.Instance == id && now.Before(p.Until) })
	if n < 0 {
		return RunnerPin{}, false
	}
	return s.Pins[n], true
}

// Freeze is the strictest one that holds for a fleet: its own or its provider's.
func (s Overrides) Freeze(f ManagedFleet) (Freeze, bool) {
	found, any := Freeze{}, false
	for _, one := range s.Freezes {
		concerns := one.Fleet != "" && one.Fleet == f.ID || one.Provider != "" && one.Provider == f.Provider
		if concerns && (!any || found.ScaleUpOnly && !one.ScaleUpOnly) {
			found, any = one, true
		}
	}
	return found, any
}

// Frozen says whether nothing may be changed at a provider.
func (s Overrides) Frozen(p ProviderAddress) bool {
	return slices.ContainsFunc(s.Freezes, func(f Freeze) bool { return f.Provider == p && p != "" && !f.ScaleUpOnly })
}

// FleetQuarantine is the quarantine that prevents instances of a fleet from starting:
// of the fleet, or of the image that it would boot.
func (s Overrides) FleetQuarantine(f ManagedFleet) (Quarantine, bool) {
	n := slices.IndexFunc(s.Quarantines, func(q Quarantine) bool {
		return q.Fleet != "" && q.Fleet == f.ID || q.Image != "" && q.Image == f.Image.Digest
	})
	if n < 0 {
		return Quarantine{}, false
	}
	return s.Quarantines[n], true
}

// InstanceQuarantine is the quarantine that an instance is under.
func (s Overrides) InstanceQuarantine(i CapacityInstance) (Quarantine, bool) {
	n := slices.IndexFunc(s.Quarantines, func(q Quarantine) bool {
		return q.Instance != "" && q.Instance == i.ID || q.Fleet != "" && q.Fleet == i.Fleet ||
			q.Image != "" && q.Image == i.ImageDigest
	})
	if n < 0 {
		return Quarantine{}, false
	}
	return s.Quarantines[n], true
}

// Apply gives a fleet with its freeze and its rollback applied: Frozen precedes
// everything, and the removal of a fleet precedes ScaleUpOnly.
func (s Overrides) Apply(f ManagedFleet) ManagedFleet {
	if o, ordered := s.Rollout(f); ordered && o.Action == RollBack {
		f.Image = o.To
	}
	switch freeze, frozen := s.Freeze(f); {
	case !frozen:
	case !freeze.ScaleUpOnly:
		f.Operational = FleetFrozen
	case f.Operational == FleetActive:
		f.Operational = FleetScaleUpOnly
	}
	return f
}

// Begins is when a reservation's capacity starts to be made (spec §230).
func (r CapacityReservation) Begins() time.Time { return r.Start.Add(-r.LeadTime) }

// Active says whether a reservation asks for capacity at a time, its lead time
// included.
func (r CapacityReservation) Active(at time.Time) bool {
	return !at.Before(r.Begins()) && at.Before(r.End)
}

// Address is reservation.NAME of the file, or the id of one made by command.
func (r CapacityReservation) Address() string {
	if r.ID != "" {
		return string(r.ID)
	}
	return "reservation." + r.Name
}
