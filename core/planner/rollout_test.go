package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

var (
	oldImage = fleet.Image{
		Name:      "ubuntu-24",
		Digest:    "sha256:1111" + strings.Repeat("0", 60),
		Bootstrap: "cloud-init",
		Ref:       "ami-1",
	}
	newImage = fleet.Image{
		Name:      "ubuntu-24",
		Digest:    "sha256:2c26" + strings.Repeat("0", 60),
		Bootstrap: "cloud-init",
		Ref:       "ami-2",
	}
)

// rolled is a fleet of a size that was made from the old image and is now to be
// made from the new one.
func rolled(size, most int, policy fleet.RolloutPolicy) fleet.ManagedFleet {
	f := sampleFleet(size, most, 0)
	f.Image, f.Rollout = newImage, policy
	return f
}

func with(f fleet.ManagedFleet, image fleet.Image) fleet.ManagedFleet {
	f.Image = image
	return f
}

// members are instances of both images, the old ones first.
func members(f fleet.ManagedFleet, old, fresh []fleet.CapacityInstanceState) []snapshot.Instance {
	all := instances(with(f, oldImage), old...)
	for n, state := range fresh {
		all = append(all, instance(f, len(old)+n, state))
	}
	for n := range all {
		if all[n].State == fleet.Draining {
			all[n].Cause = string(lifecycle.ForRollout)
		}
	}
	return all
}

func states(n int, state fleet.CapacityInstanceState) (all []fleet.CapacityInstanceState) {
	for range n {
		all = append(all, state)
	}
	return all
}

// recorded is what is remembered of a rollout that began an hour ago, after the
// old image was known good.
func recorded(f fleet.ManagedFleet, change func(*fleet.Rollout)) map[fleet.RunnerFleetID]fleet.Rollout {
	r := fleet.Rollout{
		Fleet:  f.ID,
		Target: f.Make(),
		Agent:  agentVersion,
		Began:  now.Add(-time.Hour),
		Good:   []fleet.Make{with(f, oldImage).Make()},
	}
	if change != nil {
		change(&r)
	}
	return map[fleet.RunnerFleetID]fleet.Rollout{f.ID: r}
}

func soaking(since time.Duration) func(*fleet.Rollout) {
	return func(r *fleet.Rollout) { r.Soaking = now.Add(-since) }
}

func passed(r *fleet.Rollout) {
	r.Soaking, r.Passed = now.Add(-time.Hour), now.Add(-time.Minute)
}

func haltedFor(why string) func(*fleet.Rollout) {
	return func(r *fleet.Rollout) {
		r.Halted = &fleet.RolloutHalt{At: now.Add(-time.Minute), Reason: reason.Plain(why)}
	}
}

// based is how many of the requests are of the earlier make.
func based(p FleetPlan) (n int) {
	for _, r := range p.Requests {
		if r.Make != nil {
			n++
		}
	}
	return n
}

func TestARolloutGoesByItsBudgetAndSaysHowFarItIs(t *testing.T) {
	h, b, d := fleet.Healthy, fleet.Bootstrapping, fleet.Draining
	usual := fleet.RolloutPolicy{Canary: 1, Soak: 15 * time.Minute, Surge: 1}
	wide := fleet.RolloutPolicy{Canary: 2, Soak: 15 * time.Minute, Surge: 3, Unavailable: 1}
	none := []fleet.CapacityInstanceState{}
	pause := fleet.Overrides{Rollouts: []fleet.RolloutOrder{{Fleet: "f1", Action: fleet.PauseRollout, Attribution: ada}}}
	for _, test := range []struct {
		name       string
		fleet      fleet.ManagedFleet
		old, fresh []fleet.CapacityInstanceState
		record     func(*fleet.Rollout)
		overrides  fleet.Overrides
		want       string
		base       int
		says       string
	}{
		{"first comes one canary beyond the desired number", rolled(7, 9, usual), states(7, h), none, nil, fleet.Overrides{},
			"create 1", 0,
			"rollout of image ubuntu-24 (sha256:2c26…): 0 of 1 canary healthy; 7 of 7 left"},
		{"while it boots nothing else happens", rolled(7, 9, usual), states(7, h), states(1, b), nil, fleet.Overrides{},
			"nothing", 0,
			"rollout of image ubuntu-24 (sha256:2c26…): 0 of 1 canary healthy; 7 of 8 left"},
		{"while it soaks nothing else happens", rolled(6, 9, usual), states(6, h), states(1, h), soaking(4 * time.Minute),
			fleet.Overrides{}, "nothing", 0,
			"rollout of image ubuntu-24 (sha256:2c26…): 1 canary healthy for 4 of 15 minutes; 6 of 7 left"},
		{"what is missing meanwhile is made from what was known good", rolled(9, 12, usual), states(6, h), states(1, h),
			soaking(4 * time.Minute), fleet.Overrides{}, "create 2", 2,
			"rollout of image ubuntu-24 (sha256:2c26…): 1 canary healthy for 4 of 15 minutes; 6 of 7 left"},
		{"after the soak an old one leaves, since there is one more than wanted", rolled(6, 9, usual), states(6, h),
			states(1, h), soaking(15 * time.Minute), fleet.Overrides{}, "drain i00 (rollout)", 0,
			"rollout of image ubuntu-24 (sha256:2c26…): 6 of 7 left, at most 1 extra"},
		{"the next new one waits until the old one is gone", rolled(6, 9, usual), append(states(5, h), d), states(1, h),
			passed, fleet.Overrides{}, "nothing", 0,
			"rollout of image ubuntu-24 (sha256:2c26…): 5 of 6 left, at most 1 extra"},
		{"then it is made", rolled(6, 9, usual), states(5, h), states(1, h), passed, fleet.Overrides{}, "create 1", 0,
			"rollout of image ubuntu-24 (sha256:2c26…): 5 of 6 left, at most 1 extra"},
		{"a wide budget makes and drains several", rolled(6, 9, wide), states(6, h), none, passed, fleet.Overrides{},
			"create 3, drain i00 (rollout)", 0,
			"rollout of image ubuntu-24 (sha256:2c26…): 6 of 6 left, at most 3 extra and 1 unavailable"},
		{"what leaves after its job holds no one's place", rolled(3, 9, fleet.RolloutPolicy{Unavailable: 1}),
			append(states(2, h), d), none, passed, fleet.Overrides{}, "create 1", 0,
			"rollout of image ubuntu-24 (sha256:2c26…): 2 of 2 left, one at a time"},
		{"with no room below max one is missing at a time", rolled(3, 3, usual), states(3, h), none, nil, fleet.Overrides{},
			"drain i00 (rollout)", 0,
			"rollout of image ubuntu-24 (sha256:2c26…): 0 of 1 canary healthy; 3 of 3 left"},
		{"a second canary waits for the place of the first", rolled(3, 3, fleet.RolloutPolicy{Canary: 2, Soak: time.Minute}),
			append(states(2, h), d), none, nil, fleet.Overrides{},
			"limited_by_max", 0, "rollout of image ubuntu-24 (sha256:2c26…): 0 of 2 canaries healthy; 2 of 2 left"},
		{"halted: nothing is replaced, and what is missing is the earlier make", rolled(7, 9, usual), states(6, h), none,
			haltedFor("it never enrolled"), fleet.Overrides{}, "create 1, rollout_halted", 1,
			"rollout of image ubuntu-24 (sha256:2c26…) is halted: it never enrolled; 6 of 6 left; new instances are made from " +
				"image ubuntu-24 (sha256:1111…), known good"},
		{"paused by a person", rolled(7, 9, usual), states(7, h), none, passed, pause, "rollout_paused", 0,
			"rollout of image ubuntu-24 (sha256:2c26…) is paused by ada (incident 12): 7 of 7 left; new instances are made " +
				"from image ubuntu-24 (sha256:1111…), known good"},
		{"from zero there is one canary, and the rest is the earlier make", rolled(4, 9, usual), none, none, nil,
			fleet.Overrides{}, "create 4", 3,
			"rollout of image ubuntu-24 (sha256:2c26…): 0 of 1 canary healthy; 0 of 0 left"},
		{"a fleet that shrinks loses old ones", rolled(2, 9, usual), states(3, h), states(1, h), soaking(time.Minute),
			fleet.Overrides{}, "drain i02 (scale_down)", 0,
			"rollout of image ubuntu-24 (sha256:2c26…): 1 canary healthy for 1 of 15 minutes; 3 of 4 left"},
		{"where it is halted it loses new ones", rolled(3, 9, fleet.RolloutPolicy{Canary: 1, Surge: 0, Unavailable: 1}),
			states(3, h), states(1, h), haltedFor("it was lost"), fleet.Overrides{},
			"drain i03 (scale_down), rollout_halted", 0,
			"rollout of image ubuntu-24 (sha256:2c26…) is halted: it was lost; 3 of 4 left; new instances are made from image " +
				"ubuntu-24 (sha256:1111…), known good"},
	} {
		p := planInput(
			input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{test.fleet},
				Instances: members(test.fleet, test.old, test.fresh),
				Rollouts:  recorded(test.fleet, test.record), Overrides: test.overrides}).Fleets[0]
		if got := story(p); got != test.want || based(p) != test.base {
			t.Errorf("%s: %s, %d from before; want %s, %d", test.name, got, based(p), test.want, test.base)
		}
		if p.Rollout == nil || p.Rollout.Reason.Text() != test.says {
			t.Errorf("%s: it says %+v\nwant %s", test.name, p.Rollout, test.says)
		}
	}
}

// The planner is asked again when a soak is over, since nothing else may happen then.
func TestThePlanIsLookedAtAgainWhenTheSoakIsOver(t *testing.T) {
	f := rolled(3, 5, fleet.RolloutPolicy{Canary: 1, Soak: 15 * time.Minute, Surge: 1})
	all := members(f, states(3, fleet.Healthy), states(1, fleet.Healthy))
	in := input{
		Now:          now,
		AgentVersion: agentVersion,
		Fleets:       []fleet.ManagedFleet{f},
		Instances:    all,
		Rollouts:     recorded(f, soaking(5*time.Minute)),
	}
	p := planInput(in).Fleets[0]
	if want := now.Add(10 * time.Minute); !p.Next.Equal(want) || !p.Rollout.SoakEnds.Equal(want) || p.Remember != nil {
		t.Errorf(
			"it is looked at again at %s and soaks until %s, and remembers %+v; want %s and nothing",
			p.Next,
			p.Rollout.SoakEnds,
			p.Remember,
			want,
		)
	}
	in.Now = p.Next
	if p = planInput(in).Fleets[0]; p.Remember == nil || !p.Remember.Passed.Equal(in.Now) ||
		p.Turn.Text() != "rollout of image ubuntu-24 (sha256:2c26…) continues: 1 canary healthy for 15m" {
		t.Errorf("then it remembers %+v and says %q", p.Remember, p.Turn)
	}
}

// One that doesn't end keeps the next one from leaving only as long as it may take.
func TestPlanWakesWhenRolloutWaitEnds(t *testing.T) {
	f := rolled(2, 3, fleet.RolloutPolicy{Surge: 1})
	f.Timeouts.Terminate = 10 * time.Minute
	all := members(f, append(states(2, fleet.Healthy), fleet.Terminating), states(1, fleet.Healthy))
	all[2].Since = now.Add(-4 * time.Minute)
	in := input{
		Now:          now,
		AgentVersion: agentVersion,
		Fleets:       []fleet.ManagedFleet{f},
		Instances:    all,
		Rollouts:     recorded(f, passed),
	}
	p := planInput(in).Fleets[0]
	if got := story(p); got != "nothing" || !p.Next.Equal(now.Add(6*time.Minute)) {
		t.Errorf("%s, and it is looked at again at %s", got, p.Next)
	}
	in.Now = p.Next
	if got := story(planInput(in).Fleets[0]); got != "drain i00 (rollout)" {
		t.Errorf("then: %s", got)
	}
}

func TestOnlyFailedNewInstancesHaltRollout(t *testing.T) {
	f := rolled(3, 5, fleet.RolloutPolicy{Canary: 1, Soak: 15 * time.Minute, Surge: 1})
	for _, test := range []struct {
		name   string
		change func(all []snapshot.Instance)
		halted string
	}{
		{"nothing", func([]snapshot.Instance) {}, ""},
		{"a new one didn't enroll", func(all []snapshot.Instance) {
			all[3].State, all[3].Failure = fleet.Failed, reason.Plain("no agent enrolled within 3m")
		}, "new instance i03 failed: no agent enrolled within 3m"},
		{"a new one is gone in this step", func(all []snapshot.Instance) {
			all[3].State, all[3].Failure = fleet.Terminated, reason.Plain("it is gone")
		}, "new instance i03 failed: it is gone"},
		{"an old one was lost", func(all []snapshot.Instance) {
			all[0].State, all[0].Failure = fleet.Quarantined, reason.Plain("no heartbeat")
		}, ""},
	} {
		all := members(f, states(3, fleet.Healthy), states(1, fleet.Healthy))
		test.change(all)
		p := planInput(
			input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{f}, Instances: all,
				Rollouts: recorded(f, soaking(14*time.Minute))}).Fleets[0]
		halted := ""
		if p.Remember != nil && p.Remember.Halted != nil {
			halted = p.Remember.Halted.Reason.Text()
		}
		if halted != test.halted {
			t.Errorf("%s: halted because %q, want %q", test.name, halted, test.halted)
		}
	}
}

// The record is the next plan's input, as the loop stores it.
func remembered(in *input, p FleetPlan) FleetPlan {
	if p.Remember != nil {
		in.Rollouts = map[fleet.RunnerFleetID]fleet.Rollout{p.Fleet: *p.Remember}
	}
	return p
}

func TestARolloutIsTakenUpAgainOnceForEachOrder(t *testing.T) {
	f := rolled(3, 5, fleet.RolloutPolicy{Canary: 1, Soak: 15 * time.Minute, Surge: 1})
	in := input{
		Now:          now,
		AgentVersion: agentVersion,
		Fleets:       []fleet.ManagedFleet{f},
		Instances:    members(f, states(3, fleet.Healthy), states(1, fleet.Healthy)),
		Rollouts:     recorded(f, haltedFor("it was lost")),
	}
	in.Overrides.Rollouts = []fleet.RolloutOrder{{Fleet: f.ID, Action: fleet.ResumeRollout, Attribution: ada}}
	p := remembered(&in, planInput(in).Fleets[0])
	if p.Rollout.Stage != RolloutCanary || p.Remember.Halted != nil || !p.Remember.Soaking.Equal(now) {
		t.Fatalf("after the order it is %+v, remembered as %+v", p.Rollout, p.Remember)
	}
	all := in.Instances
	in.Instances = append(all[:3:3], all[3])
	in.Instances[3].Failure = reason.Plain("it was lost again")
	if p = remembered(&in, planInput(in).Fleets[0]); p.Rollout.Stage != RolloutHalted {
		t.Errorf("the earlier order covers what goes wrong later: %+v", p.Rollout)
	}
	in.Instances[3].Failure = reason.Reason{}
	in.Overrides.Rollouts[0].At, in.Overrides.Rollouts[0].SkipSoak = now, true
	if p = remembered(
		&in,
		planInput(in).Fleets[0],
	); p.Rollout.Stage != RolloutRolling ||
		story(p) != "drain i00 (rollout)" {
		t.Errorf("without the soak it is %+v: %s", p.Rollout, story(p))
	}
}

func TestRollbackUsesLastGoodImageUntilFileChanges(t *testing.T) {
	f := rolled(3, 5, fleet.RolloutPolicy{Canary: 1, Soak: 15 * time.Minute, Surge: 1})
	in := input{
		Now:          now,
		AgentVersion: agentVersion,
		Fleets:       []fleet.ManagedFleet{f},
		Instances:    members(f, states(3, fleet.Healthy), states(1, fleet.Healthy)),
		Rollouts:     recorded(f, haltedFor("it was lost")),
	}
	in.Overrides.Rollouts = []fleet.RolloutOrder{
		{Fleet: f.ID, Action: fleet.RollBack, From: newImage, To: oldImage, Attribution: ada},
	}
	p := remembered(&in, planInput(in).Fleets[0])
	if story(p) != "drain i03 (rollout)" || p.Remember.Passed.IsZero() || len(p.Remember.Good) != 0 {
		t.Errorf(
			"%s, and remembers %+v: the canary leaves without a soak, and its image isn't known good",
			story(p),
			p.Remember,
		)
	}
	want := reason.Of(
		reason.RollbackInForce{Fleet: "demo", To: imageOf(oldImage), From: imageOf(newImage), Decided: decided(ada)},
	)
	if len(p.Overrides) != 1 || p.Overrides[0] != want {
		t.Errorf("it says %q\nwant %q", p.Overrides, want)
	}
	// Another image in the file is the later word.
	third := newImage
	third.Ref, third.Digest = "ami-3", "sha256:3333"+strings.Repeat("0", 60)
	in.Fleets = []fleet.ManagedFleet{with(f, third)}
	if p = planInput(in).Fleets[0]; len(p.Overrides) != 0 || p.Rollout == nil || p.Rollout.Image != third {
		t.Errorf("after an apply of a third image: %q, %+v", p.Overrides, p.Rollout)
	}
}

func TestWhatIsKnownGoodAfterTheFileAsksForSomethingElse(t *testing.T) {
	f := rolled(3, 5, fleet.RolloutPolicy{Canary: 1, Soak: 15 * time.Minute, Surge: 1})
	third := with(
		f,
		fleet.Image{
			Name:      "ubuntu-24",
			Digest:    "sha256:3333" + strings.Repeat("0", 60),
			Bootstrap: "cloud-init",
			Ref:       "ami-3",
		},
	)
	back := with(f, oldImage)
	for _, test := range []struct {
		name       string
		to         fleet.ManagedFleet
		old, fresh int
		record     func(*fleet.Rollout)
		want       string
	}{
		{"what is everywhere", third, 0, 3, passed, "ami-2 ami-1"},
		{"what passed its trial", third, 2, 1, passed, "ami-2 ami-1"},
		{"what is on trial isn't", third, 2, 1, soaking(time.Minute), "ami-1"},
		{"what was halted isn't", third, 2, 1, func(r *fleet.Rollout) { passed(r); haltedFor("it was lost")(r) }, "ami-1"},
		{"what the file goes back from in the middle isn't", back, 2, 1, passed, ""},
		{"what the file goes back from once it is everywhere", back, 0, 3, passed, "ami-2"},
		{"what was there first and healthy", third, 0, 3, func(r *fleet.Rollout) {
			r.Good = nil
			soaking(time.Minute)(r)
		}, "ami-2"},
		{"what was there first and never healthy", third, 0, 3, func(r *fleet.Rollout) { r.Good = nil }, ""},
	} {
		p := planInput(
			input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{test.to},
				Rollouts:  recorded(f, test.record),
				Instances: members(f, states(test.old, fleet.Healthy), states(test.fresh, fleet.Healthy))}).Fleets[0]
		var refs []string
		for _, m := range p.Remember.Good {
			refs = append(refs, m.Image.Ref)
		}
		if got := strings.Join(refs, " "); got != test.want {
			t.Errorf("%s: known good are %q, want %q", test.name, got, test.want)
		}
	}
}

func TestAnImageOfWhichNothingWorkedIsReplacedAtOnce(t *testing.T) {
	f := rolled(3, 3, fleet.RolloutPolicy{Canary: 1, Soak: 15 * time.Minute, Surge: 1})
	in := input{
		Now:          now,
		AgentVersion: agentVersion,
		Fleets:       []fleet.ManagedFleet{f},
		Instances:    members(f, states(3, fleet.Bootstrapping), nil),
		Rollouts: map[fleet.RunnerFleetID]fleet.Rollout{
			f.ID: {Fleet: f.ID, Target: with(f, oldImage).Make(), Agent: agentVersion, Began: now.Add(-time.Minute)},
		},
	}
	if p := planInput(in).Fleets[0]; story(
		p,
	) != "withdraw i00 (withdrawn), withdraw i01 (withdrawn), withdraw i02 (withdrawn)" ||
		len(p.Remember.Good) != 0 {
		t.Errorf("%s; it remembers %+v", story(p), p.Remember)
	}
}

// An earlier agent can't be made: to hold a fleet's growth for the soak of a new
// one would make every upgrade of the manager a shortage.
func TestANewAgentIsTriedOnCanariesWhileTheFleetGrowsWithIt(t *testing.T) {
	f := rolled(5, 9, fleet.RolloutPolicy{Canary: 1, Soak: 15 * time.Minute, Surge: 1})
	in := input{
		Now:          now,
		AgentVersion: "0.2.0",
		Fleets:       []fleet.ManagedFleet{f},
		Instances:    instances(f, states(3, fleet.Healthy)...),
		Rollouts:     recorded(f, passed),
	}
	p := planInput(in).Fleets[0]
	if story(p) != "create 2" || based(p) != 0 || !p.Remember.AgentOnly || len(p.Remember.Good) != 1 {
		t.Errorf("%s, %d from before; it remembers %+v", story(p), based(p), p.Remember)
	}
	if want := "rollout of agent 0.2.0: 0 of 1 canary healthy; 3 of 3 left"; p.Rollout.Reason.Text() != want {
		t.Errorf("it says %q, want %q", p.Rollout.Reason.Text(), want)
	}
}

// Its first canary was said to have been healthy for the whole soak a second after it
// had come.
func TestACanaryOfAnotherAgentDoesNotInheritTheSoakOfTheOneBefore(t *testing.T) {
	f := rolled(3, 9, fleet.RolloutPolicy{Canary: 1, Soak: 15 * time.Minute, Surge: 1})
	in := input{
		Now:          now,
		AgentVersion: "0.2.0",
		Fleets:       []fleet.ManagedFleet{f},
		Instances:    members(f, states(2, fleet.Healthy), states(1, fleet.Healthy)),
		Rollouts:     recorded(f, soaking(14*time.Minute)),
	}
	p := planInput(in).Fleets[0]
	if p.Remember == nil || p.Remember.Agent != "0.2.0" || !p.Remember.Soaking.IsZero() || !p.Remember.Passed.IsZero() {
		t.Fatalf("it remembers %+v", p.Remember)
	}
	fresh := instance(f, 3, fleet.Healthy)
	fresh.Image = f.Image.ID("0.2.0")
	in.Instances, in.Rollouts = append(in.Instances, fresh), map[fleet.RunnerFleetID]fleet.Rollout{f.ID: *p.Remember}
	if p := planInput(in).Fleets[0]; p.Remember == nil || !p.Remember.Soaking.Equal(now) || !p.Remember.Passed.IsZero() {
		t.Errorf("with its canary there it remembers %+v", p.Remember)
	}
}

func TestNoMoreThanTheCanariesStartWhereNothingKnownGoodCanBeMade(t *testing.T) {
	f := rolled(6, 9, fleet.RolloutPolicy{Canary: 2, Soak: 15 * time.Minute, Surge: 1})
	for _, test := range []struct {
		name      string
		record    func(*fleet.Rollout)
		overrides fleet.Overrides
		want      string
	}{
		{"nothing was known good", func(r *fleet.Rollout) { r.Good = nil }, fleet.Overrides{}, "create 2, canaries_first"},
		{"it was of another provider", func(r *fleet.Rollout) {
			r.Good[0].Provider = "aws.here"
		}, fleet.Overrides{}, "create 2, canaries_first"},
		{"it is quarantined", nil,
			fleet.Overrides{Quarantines: []fleet.Quarantine{{Image: oldImage.Digest, Attribution: ada}}},
			"create 2, canaries_first"},
		{"halted", func(r *fleet.Rollout) {
			r.Good = nil
			haltedFor("it was lost")(r)
		}, fleet.Overrides{}, "rollout_halted, create 2, canaries_first"},
	} {
		p := planInput(
			input{Now: now, AgentVersion: agentVersion, Fleets: []fleet.ManagedFleet{f},
				Instances: members(f, states(3, fleet.Healthy), nil),
				Rollouts:  recorded(f, test.record), Overrides: test.overrides}).Fleets[0]
		parts := strings.Join(strings.Fields(story(p)), " ")
		for _, part := range strings.Split(test.want, ", ") {
			if !strings.Contains(parts, part) || based(p) != 0 {
				t.Errorf("%s: %s, %d from before; want %s", test.name, parts, based(p), test.want)
			}
		}
	}
}
