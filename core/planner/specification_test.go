package planner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// These are tests that the specification asks for by name, in its sections 255 to
// 283; docs/invariants.md names those that stand elsewhere.

// The cheap fleet differs in one hard requirement, and the dear one meets all.
func TestHardRequirementTheAutoscalerMapsOnlyEligibleClasses(t *testing.T) {
	for name, require := range map[string]func(d *fleet.QueuedDemand, lacking, meeting *fleet.ManagedFleet){
		"platform": func(_ *fleet.QueuedDemand, lacking, _ *fleet.ManagedFleet) { lacking.Class.Platform.OS = "windows" },
		"arch":     func(_ *fleet.QueuedDemand, lacking, _ *fleet.ManagedFleet) { lacking.Class.Platform.Arch = "arm64" },
		"GPU": func(d *fleet.QueuedDemand, _, meeting *fleet.ManagedFleet) {
			d.Resources.GPU, meeting.Class.Resources.GPU = 1, 2
		},
		"device": func(d *fleet.QueuedDemand, _, meeting *fleet.ManagedFleet) {
			d.Requirement.Device, meeting.Class.Device = "pixel", "pixel"
		},
		"trusted signing": func(d *fleet.QueuedDemand, _, meeting *fleet.ManagedFleet) {
			d.Requirement.Signing, meeting.Class.Signing = true, true
		},
		"confidential compute": func(d *fleet.QueuedDemand, _, meeting *fleet.ManagedFleet) {
			d.Requirement.Confidential, meeting.Class.Confidential = true, true
		},
		"toolchain": func(d *fleet.QueuedDemand, _, meeting *fleet.ManagedFleet) {
			d.Requirement.Toolchain, meeting.Class.Toolchain = []string{"go"}, []string{"go", "rust"}
		},
		"tenant isolation": func(d *fleet.QueuedDemand, lacking, meeting *fleet.ManagedFleet) {
			d.Requirement.Tenant, lacking.Scope.Tenant, meeting.Scope.Tenant = "acme", "globex", "acme"
		},
		"hostile": func(d *fleet.QueuedDemand, _, meeting *fleet.ManagedFleet) {
			d.Requirement.Hostile, meeting.Class.Isolation = true, "vm"
		},
		"region": func(d *fleet.QueuedDemand, lacking, meeting *fleet.ManagedFleet) {
			d.Requirement.Regions, lacking.Placement.Regions, meeting.Placement.Regions = []string{"eu"}, []string{"eu", "us"},
				[]string{"eu"}
		},
	} {
		lacking, meeting, d := burst(0, 9, 0), burst(0, 9, 0), waiting(4)
		meeting.ID, meeting.Address, meeting.Cost.Hourly = "f2", "fleet.z", usd(9_000_000)
		require(&d, &lacking, &meeting)
		out := planInput(input{Now: now, Fleets: []fleet.ManagedFleet{lacking, meeting}, Demand: demand(d)})
		if out.Fleets[0].Create != 0 || out.Fleets[1].Create == 0 || len(out.Unplaced) > 0 {
			t.Errorf("%s: %s, unplaced %+v", name, stories(out), out.Unplaced)
		}
	}
}

func TestTenantQuotaTheAutoscalerDoesNotScaleForQuotaBlockedWork(t *testing.T) {
	blocked, half := waiting(8), waiting(8)
	blocked.Admissible, half.Admissible = 0, 4
	for name, test := range map[string]struct {
		jobs fleet.QueuedDemand
		want string
	}{"all of it is blocked": {blocked, "nothing"}, "half of it is": {half, "create 2"}} {
		out := planInput(
			input{Now: now, Fleets: []fleet.ManagedFleet{burst(0, 9, 0)}, Demand: demand(ownedBy(test.jobs, "acme", ""))},
		)
		if stories(out) != test.want || len(out.Unplaced) > 0 {
			t.Errorf("%s: %s, unplaced %+v", name, stories(out), out.Unplaced)
		}
	}
}

// regional is a fleet of burst hosts in a region, with a market of one zone there.
func regional(name, region string, price int64) (fleet.ManagedFleet, fleet.Offer) {
	f := trading(0, 9)
	f.ID, f.Address, f.Provider = fleet.RunnerFleetID(
		name,
	), fleet.FleetAddress(
		"fleet."+name,
	), fleet.ProviderAddress(
		"cloud."+name,
	)
	f.Placement.Regions = []string{region}
	o := lot(region+"-a", "m", price)
	o.Region = region
	return f, o
}

func TestMultiRegionFailureAnEquivalentAlternateFleetIsUsed(t *testing.T) {
	first, offer := regional("first", "eu-1", 100)
	second, other := regional("second", "eu-2", 200)
	anywhere, europe, home := waiting(4), waiting(4), waiting(4)
	europe.Requirement.Regions, home.Requirement.Regions = []string{"eu-1", "eu-2"}, []string{"eu-1"}
	lists := map[fleet.MarketKey]fleet.OfferList{
		first.MarketKey(): {
			Offers: []fleet.Offer{offer},
			Read:   now,
		},
		second.MarketKey(): {Offers: []fleet.Offer{other}, Read: now},
	}
	for _, test := range []struct {
		name, before, during string
		jobs                 fleet.QueuedDemand
		unplaced             int
	}{
		{"jobs of any region", "create 2; nothing", "nothing; create 2", anywhere, 0},
		{"jobs of both regions", "create 2; nothing", "nothing; create 2", europe, 0},
		{"jobs of the region that is away wait", "create 2; nothing", "held_back; nothing", home, 4},
	} {
		in := input{Now: now, Fleets: []fleet.ManagedFleet{first, second}, Offers: lists, Demand: demand(test.jobs)}
		if got := stories(planInput(in)); got != test.before {
			t.Errorf("%s: %s before the outage", test.name, got)
		}
		in.Holds = map[fleet.RunnerFleetID]snapshot.Hold{
			first.ID: {Reason: reason.Plain("The region doesn't answer."), Until: now.Add(time.Minute)},
		}
		in.Unobserved = map[fleet.ProviderAddress]reason.Reason{
			first.Provider: reason.Of(reason.InspectionFailed{Message: "503"}),
		}
		out, unplaced := planInput(in), 0
		for _, u := range out.Unplaced {
			unplaced += u.Count
		}
		if got := stories(out); got != test.during || unplaced != test.unplaced {
			t.Errorf("%s: %s during it, %d unplaced: %+v", test.name, got, unplaced, out.Unplaced)
		}
	}
}

// Fleets of any region, trust and lifetime, and a market that offers hosts
// everywhere: what is asked for is where the jobs may be, and as trusted.
func TestAlternateRegionsKeepResidencyAndTrust(t *testing.T) {
	regions := []string{"eu-1", "eu-2", "us-1"}
	rapid.Check(t, func(t *rapid.T) {
		in := input{Now: now, Offers: map[fleet.MarketKey]fleet.OfferList{}, Holds: map[fleet.RunnerFleetID]snapshot.Hold{}}
		for n := range rapid.IntRange(1, 5).Draw(t, "fleets") {
			f, _ := regional(fmt.Sprint("f", n), "eu-1", 1)
			f.Placement.Regions = slices.Compact(
				slices.Sorted(slices.Values(rapid.SliceOfN(rapid.SampledFrom(regions), 0, 2).Draw(t, "regions"))),
			)
			f.Class.Trust = rapid.SampledFrom([]string{"standard", "high"}).Draw(t, "trust")
			f.Scaling.Max = rapid.IntRange(0, 3).Draw(t, "max")
			f.Placement.Spread = rapid.SampledFrom([]string{fleet.SpreadNone, fleet.SpreadRegion, fleet.SpreadProvider}).
				Draw(t, "spread")
			if rapid.Bool().Draw(t, "held") {
				in.Holds[f.ID] = snapshot.Hold{Reason: reason.Plain("It is away.")}
			}
			var offers []fleet.Offer
			for _, region := range append(regions, "") {
				o := lot(region+"-a", "m", int64(rapid.IntRange(1, 9).Draw(t, "price")))
				o.Region = region
				offers = append(offers, o)
			}
			in.Offers[f.MarketKey()] = fleet.OfferList{Offers: offers, Read: now}
			in.Fleets = append(in.Fleets, f)
		}
		d := waiting(rapid.IntRange(1, 20).Draw(t, "jobs"))
		d.Priority = rapid.IntRange(0, 1).Draw(t, "priority")
		d.Requirement.Trust = rapid.SampledFrom([]string{"standard", "high"}).Draw(t, "wanted trust")
		d.Requirement.Regions = slices.Compact(
			slices.Sorted(slices.Values(rapid.SliceOfN(rapid.SampledFrom(regions), 1, 2).Draw(t, "wanted regions"))),
		)
		in.Demand = demand(d)
		for _, p := range planInput(in).Fleets {
			f := in.Fleets[slices.IndexFunc(in.Fleets, func(f fleet.ManagedFleet) bool { return f.ID == p.Fleet })]
			if p.Create > 0 && f.Class.Trust != d.Requirement.Trust {
				t.Fatalf("%s of trust %q grows for jobs of trust %q", p.Address, f.Class.Trust, d.Requirement.Trust)
			}
			for _, r := range p.Requests {
				for _, o := range r.Offers {
					if !slices.Contains(d.Requirement.Regions, o.Region) {
						t.Fatalf(
							"%s asks for %s in %q, and the jobs must stay in %q",
							p.Address,
							o.Name(),
							o.Region,
							d.Requirement.Regions,
						)
					}
				}
			}
		}
	})
}

func TestGPUPoolScarcityAndMinMax(t *testing.T) {
	gpu, plain := burst(0, 2, 0), burst(0, 9, 0)
	gpu.Address, gpu.Class.Name, gpu.Class.Resources.GPU, gpu.Cost.Hourly = "fleet.a-gpu", "gpu", 2, usd(3_000_000)
	plain.ID, plain.Address, plain.Cost.Hourly = "f2", "fleet.b-plain", usd(100_000)
	training := waiting(5)
	training.Resources.GPU = 1
	in := input{
		Now:          now,
		AgentVersion: agentVersion,
		Fleets:       []fleet.ManagedFleet{gpu, plain},
		Demand:       demand(training, waiting(6)),
	}
	out := planInput(in)
	if got := stories(out); got != "create 2; create 3" || len(out.Unplaced) != 1 || out.Unplaced[0].Count != 1 {
		t.Errorf("5 jobs with a gpu and 6 without: %s, unplaced %+v", got, out.Unplaced)
	}
	if got := out.Unplaced[0].Nearest[0].Reason; got != reason.Of(reason.LimitedByMax{Max: 2}) {
		t.Errorf("the fifth waits since %s", got)
	}
	in.Demand = demand(waiting(6))
	if got := stories(planInput(in)); got != "nothing; create 3" {
		t.Errorf("no gpu is wanted: %s", got)
	}
	gpu.Scaling.Min = 1
	in.Fleets = []fleet.ManagedFleet{gpu, plain}
	if got := stories(planInput(in)); !strings.HasPrefix(got, "create 1; create ") {
		t.Errorf("one is kept: %s", got)
	}
}

// pool is a fleet whose plans come true at once, beside a scheduler that gives each
// job a slot.
type pool struct {
	in          input
	made, ended int
}

func newPool(f fleet.ManagedFleet) *pool {
	return &pool{
		in: input{
			Now:          now,
			AgentVersion: agentVersion,
			Fleets:       []fleet.ManagedFleet{f},
			Scaled:       map[fleet.RunnerFleetID]time.Time{},
		},
	}
}

// pass lets time go by, gives so many jobs to what is there, and does what the plan
// says.
func (p *pool) pass(t *testing.T, d time.Duration, jobs int) FleetPlan {
	t.Helper()
	p.in.Now = p.in.Now.Add(d)
	for n := range p.in.Instances {
		i := &p.in.Instances[n]
		i.Leases = min(jobs, int(p.in.Fleets[0].Class.Resources.Slots))
		i.Busy = i.Leases > 0
		switch jobs -= i.Leases; {
		case i.Busy:
			i.IdleSince = time.Time{}
		case i.IdleSince.IsZero():
			i.IdleSince = p.in.Now
		}
	}
	p.in.Demand = demand(waiting(jobs))
	plan := planInput(p.in).Fleets[0]
	f := p.in.Fleets[0]
	if plan.Desired > f.Scaling.Max || plan.Desired < f.Scaling.Min || plan.Counts.Footprint+plan.Create > f.Scaling.Max {
		t.Fatalf("desired %d, %d there and %d more: outside min and max", plan.Desired, plan.Counts.Footprint, plan.Create)
	}
	if plan.Create+len(plan.Actions) > 0 {
		p.in.Scaled[f.ID] = p.in.Now
	}
	for _, a := range plan.Actions {
		p.ended++
		p.in.Instances = slices.DeleteFunc(p.in.Instances, func(i snapshot.Instance) bool {
			if i.ID == a.Instance && i.Leases > 0 {
				t.Fatalf("%s of %s, which has %d leases", a.Kind, i.ID, i.Leases)
			}
			return i.ID == a.Instance
		})
	}
	for range plan.Create {
		i := instance(f, 0, fleet.Healthy)
		i.ID, i.Created, i.IdleSince = fleet.CapacityInstanceID(fmt.Sprintf("i%06d", p.made)), p.in.Now, p.in.Now
		p.made++
		p.in.Instances = append(p.in.Instances, i)
	}
	return plan
}

func TestBurstALargeQueueThatArrivesSuddenlyIsTakenInSteps(t *testing.T) {
	f := burst(0, 500, 0)
	f.Scaling.ScaleUp = fleet.ScaleUpPolicy{MaxStep: 60, Window: time.Minute}
	p := newPool(f)
	started := map[time.Time]int{}
	for range 30 {
		plan := p.pass(t, 20*time.Second, 100_000)
		started[p.in.Now] = plan.Create
		for at, n := range started {
			if since := p.in.Now.Sub(at); since > 0 && since < f.Scaling.ScaleUp.Window && n+plan.Create > 60 {
				t.Fatalf("%d start %s after %d others", plan.Create, since, n)
			}
		}
	}
	if len(p.in.Instances) != 500 || p.ended > 0 {
		t.Errorf(
			"after ten minutes of 100,000 jobs %d of 500 hosts are there, and %d have left",
			len(p.in.Instances),
			p.ended,
		)
	}
}

func TestThrashHysteresisPreventsOscillation(t *testing.T) {
	p := newPool(burst(0, 20, 0))
	for n := range 240 { // 20 jobs for 30 seconds of each minute, for two hours
		p.pass(t, 30*time.Second, 20*(n%2))
	}
	if p.made != 10 || p.ended != 0 {
		t.Errorf("%d hosts were made and %d ended for 20 jobs that come and go", p.made, p.ended)
	}
	for range 30 {
		p.pass(t, 30*time.Second, 0)
	}
	if len(p.in.Instances) != 0 {
		t.Errorf("15 minutes after the last job %d hosts are there", len(p.in.Instances))
	}
}

func TestThousandsOfRunnersAreDecidedAboutInOnePlan(t *testing.T) {
	const fleets, each = 100, 60
	in := input{Now: now, AgentVersion: agentVersion}
	for n := range fleets {
		f := burst(0, each+20, 0)
		f.ID, f.Address = fleet.RunnerFleetID(fmt.Sprintf("f%03d", n)), fleet.FleetAddress(fmt.Sprintf("fleet.f%03d", n))
		in.Fleets = append(in.Fleets, f)
		for k := range each {
			i := instance(f, k, fleet.Healthy)
			i.ID = fleet.CapacityInstanceID(fmt.Sprintf("%s-%02d", f.ID, k))
			i.Created = now.Add(-time.Hour)
			if i.Leases = 2; k%2 == 0 {
				i.Leases, i.IdleSince = 0, now.Add(-time.Hour)
			}
			i.Busy = i.Leases > 0
			in.Instances = append(in.Instances, i)
		}
	}
	// 3,000 of 6,000 hosts are busy, and 7,000 jobs take the idle ones and 500 more.
	in.Demand = demand(waiting(7000))
	created, drained := 0, 0
	for _, p := range planInput(in).Fleets {
		created += p.Create
		drained += len(p.Actions)
	}
	if created != 500 || drained != 0 {
		t.Errorf("for 7,000 jobs %d hosts start and %d leave", created, drained)
	}
	in.Demand = demand()
	drained = 0
	for _, p := range planInput(in).Fleets {
		drained += len(p.Actions)
	}
	if drained != fleets*each/2 {
		t.Errorf("without jobs %d of %d idle hosts leave", drained, fleets*each/2)
	}
}

// What people and schedulers say aside: while the provider can't be seen nothing
// that was ever sent is taken away, whatever else is so.
func TestNoScaleDownWhileAnObservationIsMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawOverrides(t, drawDemand(t))
		in.Unobserved = map[fleet.ProviderAddress]reason.Reason{
			"local.here": reason.Of(reason.InspectionFailed{Message: "timeout"}),
		}
		for _, p := range planInput(in).Fleets {
			for _, a := range p.Actions {
				i := in.Instances[slices.IndexFunc(in.Instances, func(i snapshot.Instance) bool { return i.ID == a.Instance })]
				if a.Kind != Reactivate && i.State != fleet.Requested {
					t.Fatalf("%s %s (%s) while its provider can't be seen", a.Kind, i.ID, i.State)
				}
			}
		}
	})
}
