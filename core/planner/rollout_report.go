package planner

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// RolloutStage is how far a rollout is.
type RolloutStage string

// Canary: the first new ones show what they are worth. Rolling: the others follow.
// Halted: something went wrong with a new one. Paused: a person halted it.
const (
	RolloutCanary  RolloutStage = "canary"
	RolloutRolling RolloutStage = "rolling"
	RolloutHalted  RolloutStage = "halted"
	RolloutPaused  RolloutStage = "paused"
)

// RolloutPlan is a rollout that is under way.
type RolloutPlan struct {
	Stage RolloutStage `json:"stage"`
	// Image is what it is to; empty: the fleet has none.
	Image fleet.Image `json:"image,omitzero"`
	Began time.Time   `json:"began"`
	// Old are left to replace, New are there or on their way, and Healthy of these
	// run.
	Old     int `json:"old"`
	New     int `json:"new"`
	Healthy int `json:"healthy"`
	// SoakEnds is when the others may follow, where canaries soak.
	SoakEnds time.Time `json:"soak_ends,omitzero"`
	// Base is the image that missing instances are made from while the new one isn't
	// trusted; empty: the new one, as far as there may be canaries.
	Base   fleet.Image   `json:"base,omitzero"`
	Reason reason.Reason `json:"reason"`
}

// report is the rollout for people; nil: none is under way.
func (r *rollout) report(in *planning, f fleet.ManagedFleet) *RolloutPlan {
	if !r.active() {
		return nil
	}
	report := &RolloutPlan{
		Stage:   RolloutRolling,
		Image:   f.Image,
		Began:   r.record.Began,
		Old:     r.old,
		New:     r.fresh,
		Healthy: r.healthy,
	}
	if r.limited() && r.base != nil {
		report.Base = r.base.Image
	}
	target, left := r.target(f), r.progress()
	var why reason.Detail
	switch {
	case r.paused:
		report.Stage = RolloutPaused
		why = reason.RolloutPaused{
			Fleet:    f.Address.Name(),
			Target:   target,
			Paused:   decided(r.order.Attribution),
			Progress: left,
			Interim:  r.interim(),
		}
	case r.record.Halted != nil && r.guarded:
		report.Stage = RolloutHalted
		why = reason.RolloutHalted{
			Fleet:    f.Address.Name(),
			Target:   target,
			Because:  r.record.Halted.Reason,
			Progress: left,
			Interim:  r.interim(),
		}
	case !r.limited():
		surge, unavailable := in.latitude(f, r.old+r.fresh, r.old+r.fresh)
		why = reason.RolloutRolling{Target: target, Progress: left, Pace: reason.Pace{Surge: surge, Unavailable: unavailable}}
	case r.record.Soaking.IsZero() || r.healthy < r.needed():
		report.Stage = RolloutCanary
		why = reason.RolloutCanaries{Target: target, Healthy: r.healthy, Canaries: r.needed(), Progress: left}
	default:
		report.Stage, report.SoakEnds = RolloutCanary, r.soaks(f)
		why = reason.RolloutSoaks{Target: target, Canaries: r.healthy, Passed: reason.Duration(in.Now.Sub(r.record.Soaking)),
			Soak: reason.Duration(f.Rollout.Soak), Progress: left}
	}
	report.Reason = reason.Of(why)
	return report
}

// interim is what becomes of missing instances while nothing is replaced.
func (r *rollout) interim() reason.Interim {
	if r.base == nil {
		return reason.Interim{Canaries: max(1, r.canary)}
	}
	return reason.Interim{Base: imageOf(r.base.Image), HasBase: true}
}

// progress is how many of its instances are left to replace.
func (r *rollout) progress() reason.Progress {
	return reason.Progress{Outdated: r.old, Total: r.old + r.fresh}
}

// target names a rollout.
func (r *rollout) target(f fleet.ManagedFleet) reason.RolloutTarget {
	switch {
	case r.record.AgentOnly:
		return reason.RolloutTarget{Agent: r.record.Agent}
	case f.Image.Name == "" || len(r.record.Good) > 0 && r.record.Good[0].Image.Same(f.Image):
		return reason.RolloutTarget{}
	}
	return reason.RolloutTarget{Image: imageOf(f.Image)}
}

func imageOf(i fleet.Image) reason.Image { return reason.Image{Name: i.Name, Digest: i.Digest} }
