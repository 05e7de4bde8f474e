package planner

import (
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// desired is the number of instances that a fleet should have, with the chain
// of bounds that made it.
func desired(in *planning, f fleet.ManagedFleet, c Counts, s *supply) (int, []fleet.Bound) {
	var bounds []fleet.Bound
	n := 0
	bound := func(name string, after int, format string, args ...any) {
		n = after
		bounds = append(bounds, fleet.Bound{Name: name, After: after, Sentence: sentence(format, args...)})
	}
	switch {
	case f.Scheduler == "":
		bound("demand", 0, "No scheduler is connected, so no job asks for capacity.")
	case s == nil && f.Operational != fleet.FleetDraining:
		bound("demand", c.Capacity, "%s: what is there stays.", in.unseen(f))
	case s != nil:
		bound("demand", s.used()+s.short, "%s.", s.story(c))
	}
	if s != nil && s.spread != "" {
		bound("spread", n, "%s.", s.spread)
	}
	if f.Operational == fleet.FleetDraining {
		bound("removed", 0, "The fleet is being removed: every runner leaves after its job.")
		return n, bounds
	}
	if reserved, whose := reservedFor(in, f); reserved > 0 {
		bound("reservation", max(n, reserved), "%s reserved: %s.", instancesAre(reserved), whose)
	}
	if s != nil || f.Scheduler == "" {
		in.keepWarm(f, n, bound)
	}
	if s != nil {
		in.expect(f, n, bound)
	}
	if n < f.Scaling.Min {
		name, text := minRule(in, f)
		bound(name, f.Scaling.Min, "%s", text)
	}
	if n > f.Scaling.Max {
		name, text := maxRule(in, f)
		bound(name, f.Scaling.Max, "%s", text)
	}
	return n, bounds
}

// unseen says why it isn't known how many instances the jobs of a fleet's scheduler
// need; "": it is, or no job can ask.
func (in *planning) unseen(f fleet.ManagedFleet) string {
	switch d, asked := in.Demand[f.Scheduler]; {
	case f.Scheduler == "" || f.Operational == fleet.FleetDraining:
		return ""
	case !asked:
		return sentence("scheduler.%s has not been asked yet how many jobs wait, which a running manager does", f.Scheduler)
	case d.Unobserved != "":
		return sentence("scheduler.%s can't be seen (%s)", f.Scheduler, d.Unobserved)
	}
	return ""
}

// story says what the demand of a fleet comes to.
func (s *supply) story(c Counts) string {
	if s.jobs == 0 && s.short == 0 {
		if s.occupied > 0 {
			return sentence("No job waits for it, and %s", jobsRun(s.occupied))
		}
		if c.Busy == 0 {
			return "No job waits for it, and none runs"
		}
		return sentence("No job waits for it, and jobs run on %s", plural(c.Busy, "runner"))
	}
	needed := s.fresh + s.short
	if needed == 0 {
		return sentence("%s, and the runners that are there or coming take them all", jobsWait(s.jobs))
	}
	if s.short > 0 {
		return sentence("More jobs wait than its runners can take: %s more would do", plural(needed, "runner"))
	}
	return sentence("%s; packed, they take %s beyond those that are there", jobsWait(s.jobs), plural(needed, "runner"))
}

func jobsRun(n int) string {
	if n == 1 {
		return "1 job runs"
	}
	return sentence("%d jobs run", n)
}

// limit is what a budget comes from: as a wait of the fleet whose format takes
// what is missing, and as half a sentence about the fleet.
type limit struct {
	code   WaitCode
	format string
	brief  string
}

// budget is how many instances of a fleet may start now: the one gate through
// which every new instance goes, whatever it is for. Everything that isn't
// proven gone counts against max, whatever its state.
func budget(in *planning, f fleet.ManagedFleet, instances []snapshot.Instance) (int, limit) {
	c := count(instances)
	hold, held := in.holds[f.ID]
	_, barred := in.Overrides.FleetQuarantine(f)
	switch {
	case f.Operational == fleet.FleetFrozen:
		return 0, limit{IsFrozen, "%s missing, and " + frozenWords(in, f, "the fleet", "its provider") + " is frozen.", frozenWords(in, f, "it", "its provider") + " is frozen"}
	case f.Operational == fleet.FleetDraining:
		return 0, limit{IsFrozen, "%s missing, and the fleet is being removed.", "it is being removed"}
	case barred:
		return 0, limit{IsQuarantined, "%s missing, and the fleet or its image is quarantined.", "it or its image is quarantined"}
	case f.Joined:
		return 0, limit{WaitsForPerson, "%s missing, and hosts are joined by a person.", "its hosts are joined by a person"}
	case held && hold.Constrained:
		return 0, limit{NoOffer, verbatim(HoldSentence(hold, in.Now)), lowerFirst(hold.Reason)}
	case held && hold.InForce(in.Now):
		return 0, limit{HeldBack, verbatim(HoldSentence(hold, in.Now)), lowerFirst(hold.Reason)}
	}
	most := max(0, f.Scaling.Max-c.Footprint)
	because := limit{MaxHeldByUnproven, sentence("%%s missing, but max = %d is held by %s that aren't proven gone.",
		f.Scaling.Max, plural(c.Footprint-c.Capacity, "instance")), sentence("its max is %d", f.Scaling.Max)}
	if room := in.markets[f.ID].room(in.probes); room < most {
		most, because = room, limit{NoOffer, "%s missing, and one request tries first whether there is room again.", "one request tries first whether there is room again"}
	}
	if f.Protected && f.Scheduler != "" {
		if base := max(0, f.Scaling.Min-c.Capacity); base < most {
			most, because = base, limit{IsProtected, "%s missing, and a protected fleet has the size of its file.", "it is protected and keeps the size of its file"}
		}
	}
	if room, why := in.budgets[f.ID].room(); room < most {
		most, because = room, why
	}
	if room, bounded := in.rollouts[f.ID].bound(); bounded && room < most {
		most, because = room, limit{RolloutWaits, "%s missing, and while the new ones are on trial there may be no more of them.", "its new ones are on trial"}
	}
	if step := f.Scaling.ScaleUp; step.MaxStep > 0 {
		started := 0
		for _, i := range instances {
			if in.Now.Sub(i.Created) < step.Window {
				started++
			}
		}
		if now := max(0, step.MaxStep-started); now < most {
			most, because = now, limit{StepLimit, sentence("%%s missing; at most %d may start in %s, and %d have.", step.MaxStep, short(step.Window), started),
				sentence("it starts at most %d in %s", step.MaxStep, short(step.Window))}
		}
	}
	for _, gate := range []func(fleet.ManagedFleet) (int, limit){in.entitled.of, in.spreads.of} {
		if room, why := gate(f); room < most {
			most, because = room, why
		}
	}
	return most, because
}

// verbatim is a text as a format that ignores its argument.
func verbatim(text string) string {
	return strings.ReplaceAll(text, "%", "%%") + "%.0s"
}

func lowerFirst(text string) string {
	text = strings.TrimSuffix(text, ".")
	if len(text) > 1 && text[1] >= 'a' && text[1] <= 'z' {
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// short is a duration without empty parts: "1m", "90s".
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Counts is a fleet's live instances by what they count for. Footprint and
// Capacity are never the same variable: the first is held against max, the
// second against what is wanted.
type Counts struct {
	Footprint    int `json:"footprint"`
	Capacity     int `json:"capacity"`
	Ready        int `json:"ready"`
	Busy         int `json:"busy"`
	Idle         int `json:"idle"`
	Silent       int `json:"silent"`
	Provisioning int `json:"provisioning"`
	Draining     int `json:"draining"`
	Failed       int `json:"failed"`
	Quarantined  int `json:"quarantined"`
	Terminating  int `json:"terminating"`
	// Joining counts claimed hosts that no agent has come from: neither footprint
	// nor capacity.
	Joining int `json:"joining,omitempty"`
}

func count(instances []snapshot.Instance) Counts {
	var c Counts
	for _, i := range instances {
		if lifecycle.Footprint(i.State) {
			c.Footprint++
		}
		if lifecycle.Capacity(i.State, i.Silent) {
			c.Capacity++
		}
		switch i.State {
		case fleet.Requested, fleet.Provisioning, fleet.Bootstrapping, fleet.Enrolling:
			c.Provisioning++
		case fleet.Healthy:
			c.countHealthy(i)
		case fleet.Draining:
			c.Draining++
		case fleet.Failed:
			c.Failed++
		case fleet.Quarantined:
			c.Quarantined++
		case fleet.Terminating:
			c.Terminating++
		}
	}
	return c
}

func (c *Counts) countHealthy(i snapshot.Instance) {
	switch {
	case i.Silent:
		c.Silent++
		return
	case i.Busy:
		c.Busy++
	default:
		c.Idle++
	}
	c.Ready++
}

func sentence(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// plural is "1 instance", "2 instances".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// instancesAre is "1 instance is", "2 instances are".
func instancesAre(n int) string {
	if n == 1 {
		return "1 instance is"
	}
	return fmt.Sprintf("%d instances are", n)
}
