package planner

import (
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
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
	Base     fleet.Image `json:"base,omitzero"`
	Sentence string      `json:"sentence"`
}

// report is the rollout for people; nil: none is under way.
func (r *rollout) report(in *planning, f fleet.ManagedFleet) *RolloutPlan {
	if !r.active() {
		return nil
	}
	report := &RolloutPlan{Stage: RolloutRolling, Image: f.Image, Began: r.record.Began, Old: r.old, New: r.fresh, Healthy: r.healthy}
	if r.limited() && r.base != nil {
		report.Base = r.base.Image
	}
	total := r.old + r.fresh
	left := sentence("%d of %d left", r.old, total)
	switch {
	case r.paused:
		report.Stage = RolloutPaused
		report.Sentence = sentence("%s is paused by %s%s: %s. %s", r.what(f), r.order.By, because(r.order.Reason), left, r.meanwhile(f))
	case r.record.Halted != nil && r.guarded:
		report.Stage = RolloutHalted
		report.Sentence = sentence("%s is halted: %s %s. %s", r.what(f), strings.TrimSuffix(r.record.Halted.Reason, ".")+".", left, r.meanwhile(f))
	case !r.limited():
		surge, unavailable := in.latitude(f, r.old+r.fresh, r.old+r.fresh)
		report.Sentence = sentence("%s: %s, %s.", r.what(f), left, pace(surge, unavailable))
	case r.record.Soaking.IsZero() || r.healthy < r.needed():
		report.Stage = RolloutCanary
		report.Sentence = sentence("%s: %d of %s healthy; %s.", r.what(f), r.healthy, canaries(r.needed()), left)
	default:
		report.Stage, report.SoakEnds = RolloutCanary, r.soaks(f)
		report.Sentence = sentence("%s: %s healthy for %s; %s.", r.what(f), canaries(r.healthy), of(in.Now.Sub(r.record.Soaking), f.Rollout.Soak), left)
	}
	return report
}

// meanwhile says what becomes of missing instances while nothing is replaced, and
// how it goes on.
func (r *rollout) meanwhile(f fleet.ManagedFleet) string {
	name := f.Address.Name()
	goes := sentence("It goes on by forgeyard-fleet image rollout %s", name)
	if f.Image.Name != "" {
		goes += sentence(", and back by forgeyard-fleet image rollback %s", name)
	}
	if r.base == nil {
		return sentence("Of the new ones there are %d at most. %s.", max(1, r.canary), goes)
	}
	return sentence("Missing ones are made from %s, known good. %s.", makeWords(*r.base), goes)
}

// what names a rollout.
func (r *rollout) what(f fleet.ManagedFleet) string {
	switch {
	case r.record.AgentOnly:
		return sentence("Rollout of the agent %s", r.record.Agent)
	case f.Image.Name == "" || len(r.record.Good) > 0 && r.record.Good[0].Image.Same(f.Image):
		return "Rollout of the fleet's new definition"
	}
	return "Rollout of " + ImageWords(f.Image)
}

func makeWords(m fleet.Make) string {
	if m.Image.Name == "" {
		return "the definition of before"
	}
	return ImageWords(m.Image)
}

// ImageWords name an image with the beginning of its digest: a name may be another
// image's tomorrow.
func ImageWords(i fleet.Image) string {
	switch {
	case i.Name == "":
		return "no image"
	case i.Digest == "":
		return "image " + i.Name
	}
	return sentence("image %s (%s…)", i.Name, i.Digest[:min(len(i.Digest), len("sha256:")+4)])
}

func canaries(n int) string {
	if n == 1 {
		return "1 canary"
	}
	return sentence("%d canaries", n)
}

func canariesWere(n int) string {
	if n == 1 {
		return "1 canary was"
	}
	return sentence("%d canaries were", n)
}

// of is how much of a time has passed: "4 of 15 minutes".
func of(passed, whole time.Duration) string {
	passed = max(0, min(passed, whole))
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}} {
		if whole >= 2*unit.size && whole%unit.size == 0 {
			return sentence("%d of %s", passed/unit.size, plural(int(whole/unit.size), unit.name))
		}
	}
	return sentence("%d of %s", passed/time.Second, plural(int(whole/time.Second), "second"))
}
