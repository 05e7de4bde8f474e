package planner

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// limitsAt are the min and max of a fleet as its file has it, at a time.
func limitsAt(in *planning, f fleet.ManagedFleet, at time.Time) (least, most int) {
	least, most = f.Scaling.Min, f.Scaling.Max
	if o, holds := in.Overrides.ScaleOverride(f, at); holds {
		least, most = o.Least(least), o.Most(most)
	}
	return least, most
}

// minRule is the name of the bound that keeps a fleet from being smaller, and its
// sentence. Where a person overrides the file it says so.
func minRule(in *planning, f fleet.ManagedFleet) (name, text string) {
	if o, holds := in.Overrides.ScaleOverride(f, in.Now); holds && o.Min != nil {
		return "override", sentence("Never fewer than %d: %s, until %s%s.", *o.Min, by(o.Attribution), moment(o.Until), because(o.Reason))
	}
	return "min", sentence("Never fewer than min = %d.", f.Scaling.Min)
}

// maxRule is minRule's other side. Where the two contradict each other, which an
// apply after the override can bring about, max goes before min.
func maxRule(in *planning, f fleet.ManagedFleet) (name, text string) {
	if o, holds := in.Overrides.ScaleOverride(f, in.Now); holds && o.Max != nil {
		return "override", sentence("Never more than %d: %s, until %s%s.", *o.Max, by(o.Attribution), moment(o.Until), because(o.Reason))
	}
	return "max", sentence("Never more than max = %d.", f.Scaling.Max)
}

// describeOverrides says in a sentence each what people decided about a fleet beside its
// file, and how it is taken back.
func describeOverrides(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance) (said []string) {
	name := f.Address.Name()
	said = append(said, beyondPolicy(in.Policy, f)...)
	if freeze, frozen := in.Overrides.Freeze(f); frozen {
		said = append(said, frozenSentence(f, freeze))
	}
	if q, barred := in.Overrides.FleetQuarantine(f); barred {
		what, quarantined := "the fleet", name
		if q.Image != "" {
			what, quarantined = "its image", q.Image
		}
		said = append(said, sentence("%s quarantined %s on %s%s: its instances get no work and no new ones start. To clear it: forgeyard-fleet quarantine %s --clear.",
			q.By, what, moment(q.At), because(q.Reason), quarantined))
	}
	if o, holds := in.Overrides.ScaleOverride(f, in.Now); holds {
		said = append(said, sentence("%s set %s until %s%s. To end it before: forgeyard-fleet scale %s --clear.",
			o.By, overridden(o), moment(o.Until), because(o.Reason), name))
	}
	if b, holds := in.Overrides.CostOverride(f, in.Now); holds {
		said = append(said, costOverrideSentence(f, b))
	}
	if o, ordered := in.Overrides.Rollout(f); ordered && o.Action == fleet.RollBack {
		said = append(said, sentence("%s rolled the fleet back on %s%s: it boots %s, and its file says %s. To take that up again: forgeyard-fleet image rollout %s --resume.",
			o.By, moment(o.At), because(o.Reason), ImageWords(o.To), ImageWords(o.From), name))
	}
	for _, i := range instances {
		if pin, holds := in.Overrides.Pin(i.ID, in.Now); holds {
			said = append(said, sentence("%s pinned %s until %s%s: it is no choice for a scale-down, max_age or a rollout.", pin.By, i.ID, moment(pin.Until), because(pin.Reason)))
		}
	}
	return said
}

func frozenSentence(f fleet.ManagedFleet, z fleet.Freeze) string {
	what, frozen := "the fleet", f.Address.Name()
	if z.Provider != "" {
		what, frozen = "the provider "+string(z.Provider), "--provider "+string(z.Provider)
	}
	effect := "nothing starts, drains or ends"
	if z.ScaleUpOnly {
		effect = "instances start, and none leaves for want of work, age or a newer definition"
	}
	return sentence("%s froze %s on %s%s: %s. To clear it: forgeyard-fleet freeze %s --clear.", z.By, what, moment(z.At), because(z.Reason), effect, frozen)
}

// frozenWords are what is frozen: the fleet, or the whole provider that it is of.
func frozenWords(in *planning, f fleet.ManagedFleet, itself, provider string) string {
	if z, _ := in.Overrides.Freeze(f); z.Provider != "" {
		return provider
	}
	return itself
}

func overridden(o fleet.FleetScaleOverride) string {
	switch {
	case o.Max == nil:
		return sentence("min = %d", *o.Min)
	case o.Min == nil:
		return sentence("max = %d", *o.Max)
	}
	return sentence("min = %d and max = %d", *o.Min, *o.Max)
}

func by(d fleet.Attribution) string { return d.By + " asked for it" }

// because is a person's reason in brackets.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return sentence(" (%s)", reason)
}

// moment is a time for a sentence.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// decidedTimes are when what people decided about a fleet begins or ends by
// itself.
func decidedTimes(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance) (times []time.Time) {
	if o, holds := in.Overrides.ScaleOverride(f, in.Now); holds {
		times = append(times, o.Until)
	}
	for _, i := range instances {
		if i.Pinned {
			pin, _ := in.Overrides.Pin(i.ID, in.Now)
			times = append(times, pin.Until)
		}
	}
	for _, r := range in.allotted.reservations {
		if unreservable(in.Policy, r, f) == "" {
			times = append(times, r.Begins(), r.End)
		}
	}
	return times
}
