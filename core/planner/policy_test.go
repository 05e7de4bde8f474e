package planner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// ownedBy is the jobs of a tenant and project.
func ownedBy(d fleet.QueuedDemand, tenant, project string) fleet.QueuedDemand {
	d.Requirement.Tenant, d.Requirement.Project = tenant, project
	return d
}

func entitling(entitlements ...fleet.Entitlement) fleet.InstallationPolicy {
	return fleet.InstallationPolicy{Entitlements: entitlements}
}

func TestAPremiumClassIsForThoseAloneWhoAreEntitledToIt(t *testing.T) {
	f := burst(0, 4, 0)
	gold := fleet.Entitlement{Name: "gold", Class: "c", Tenants: []string{"acme"}, Projects: []string{"globex/kernel"}}
	elsewhere := gold
	elsewhere.Class = "another"
	for _, test := range []struct {
		name   string
		policy fleet.InstallationPolicy
		jobs   fleet.QueuedDemand
		want   string
	}{
		{"a class that no entitlement names is everybody's", entitling(elsewhere), waiting(2), "create 1"},
		{"an entitled tenant", entitling(gold), ownedBy(waiting(2), "acme", ""), "create 1"},
		{"an entitled project of another tenant", entitling(gold), ownedBy(waiting(2), "globex", "globex/kernel"),
			"create 1"},
		{"another tenant", entitling(gold), ownedBy(waiting(2), "globex", ""),
			`the tenant "globex" is not entitled to the class "c"`},
		{"another project", entitling(gold), ownedBy(waiting(2), "", "globex/web"),
			`the project "globex/web" is not entitled to the class "c"`},
		{"another project of another tenant", entitling(gold), ownedBy(waiting(2), "globex", "globex/web"),
			`neither the tenant "globex" nor the project "globex/web" is entitled to the class "c"`},
		{"jobs that are no one's", entitling(gold), waiting(2),
			`the jobs have no tenant and no project that is entitled to the class "c"`},
		{"the second entitlement counts, too",
			entitling(gold, fleet.Entitlement{Name: "silver", Class: "c", Tenants: []string{"globex"}}),
			ownedBy(waiting(2), "globex", ""), "create 1"},
	} {
		out := planInput(input{Now: now, Fleets: []fleet.ManagedFleet{f}, Demand: demand(test.jobs), Policy: test.policy})
		got := story(out.Fleets[0])
		if len(out.Unplaced) > 0 {
			got = out.Unplaced[0].Nearest[0].Reason.Text()
		}
		if got != test.want {
			t.Errorf("%s: %s; want %s", test.name, got, test.want)
		}
	}
}

func TestEntitlementsLimitHowManyInstancesOfAClassThereAre(t *testing.T) {
	one, two := burst(0, 9, 0), burst(0, 9, 0)
	one.Scope.Tenant = "acme"
	two.ID, two.Address = "f2", "fleet.shared"
	two.Cost.Hourly = usd(1)
	acme := fleet.Entitlement{Name: "acme", Class: "c", Tenants: []string{"acme"}, Max: 3}
	globex := fleet.Entitlement{Name: "globex", Class: "c", Tenants: []string{"globex"}, Max: 2}
	free := fleet.Entitlement{Name: "free", Class: "c", Tenants: []string{"initech"}}
	for _, test := range []struct {
		name   string
		policy fleet.InstallationPolicy
		there  []snapshot.Instance
		jobs   []fleet.QueuedDemand
		want   string
	}{
		{"up to what is allowed", entitling(acme), nil, []fleet.QueuedDemand{ownedBy(waiting(20), "acme", "")},
			"create 3, entitlement_limit; entitlement_limit"},
		{"what isn't proven gone counts", entitling(acme), instances(one, fleet.Terminating, fleet.Quarantined),
			[]fleet.QueuedDemand{ownedBy(waiting(20), "acme", "")}, "create 1, entitlement_limit; entitlement_limit"},
		{"several entitlements add up where a fleet is for all", entitling(acme, globex), nil,
			[]fleet.QueuedDemand{ownedBy(waiting(20), "globex", "")}, "nothing; create 5, entitlement_limit"},
		{"a tenant's fleet has what is that tenant's", entitling(acme, globex), nil,
			[]fleet.QueuedDemand{ownedBy(waiting(20), "acme", "")}, "create 3, entitlement_limit; create 2, entitlement_limit"},
		{"one without a limit lifts the others'", entitling(acme, free), nil,
			[]fleet.QueuedDemand{ownedBy(waiting(8), "initech", "")}, "nothing; create 4"},
	} {
		out := planInput(
			input{
				Now:          now,
				AgentVersion: agentVersion,
				Fleets:       []fleet.ManagedFleet{one, two},
				Instances:    test.there,
				Demand:       demand(test.jobs...),
				Policy:       test.policy,
			},
		)
		if got := story(out.Fleets[0]) + "; " + story(out.Fleets[1]); got != test.want {
			t.Errorf("%s: %s; want %s", test.name, got, test.want)
		}
	}
}

func TestAnEntitlementThatBindsSaysSoInASentence(t *testing.T) {
	f := burst(0, 9, 0)
	p := entitling(fleet.Entitlement{Name: "gold", Class: "c", Tenants: []string{"acme"}, Max: 2})
	in := input{
		Now:          now,
		AgentVersion: agentVersion,
		Fleets:       []fleet.ManagedFleet{f},
		Instances:    instances(f, fleet.Bootstrapping, fleet.Bootstrapping),
		Demand:       demand(ownedBy(waiting(9), "acme", "")),
		Policy:       p,
	}
	out := planInput(in)
	got := []string{out.Unplaced[0].Reason.Text()}
	for _, w := range out.Fleets[0].Waiting {
		got = append(got, w.Text())
	}
	want := []string{
		`5 queued jobs without capacity: fleet.demo can't grow now, the entitlement "gold" allows 2 instances of class "c", 2 in use`,
		`3 instances missing: the entitlement "gold" allows 2 instances of class "c", 2 in use`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	in.Policy.Entitlements = append(
		in.Policy.Entitlements,
		fleet.Entitlement{Name: "silver", Class: "c", Tenants: []string{"globex"}, Max: 1},
	)
	in.Instances = append(in.Instances, instance(f, 2, fleet.Bootstrapping))
	out = planInput(in)
	if want := `the entitlements "gold", "silver" allow 3 instances of class "c" together, 3 in use`; !strings.Contains(
		out.Unplaced[0].Reason.Text(),
		want,
	) {
		t.Errorf("%q lacks %q", out.Unplaced[0].Reason.Text(), want)
	}
}

func TestHostileTenantsRequireTheIsolationOfThePolicy(t *testing.T) {
	isolated := func(isolation string) fleet.ManagedFleet {
		f := burst(0, 4, 0)
		f.Class.Isolation = isolation
		return f
	}
	hostile := waiting(2)
	hostile.Requirement.Hostile = true
	own := hostile
	own.Requirement.Isolation = "container"
	microvm := fleet.InstallationPolicy{HostileIsolation: "microvm"}
	for _, test := range []struct {
		name   string
		fleet  fleet.ManagedFleet
		jobs   fleet.QueuedDemand
		policy fleet.InstallationPolicy
		want   string
	}{
		{"a machine of its own", isolated("vm"), hostile, fleet.InstallationPolicy{}, "create 1"},
		{"silence of the policy isn't consent", isolated("container"), hostile, fleet.InstallationPolicy{},
			`the jobs are hostile and need the isolation "vm", and the class has "container"`},
		{"nor is silence of the class", isolated(""), hostile, fleet.InstallationPolicy{},
			`the jobs are hostile and need the isolation "vm", and the class does not set one`},
		{"what the policy asks for", isolated("microvm"), hostile, microvm, "create 1"},
		{"another one isn't known to be as strong", isolated("vm"), hostile, microvm,
			`the jobs are hostile and need the isolation "microvm", and the class has "vm"`},
		{"both requirements hold", isolated("vm"), own, fleet.InstallationPolicy{},
			`the jobs require isolation "container", and the class has "vm"`},
		{"ordinary jobs may use such hosts", isolated("vm"), waiting(2), fleet.InstallationPolicy{}, "create 1"},
	} {
		out := planInput(
			input{Now: now, Fleets: []fleet.ManagedFleet{test.fleet}, Demand: demand(test.jobs), Policy: test.policy},
		)
		got := story(out.Fleets[0])
		if len(out.Unplaced) > 0 {
			got = out.Unplaced[0].Nearest[0].Reason.Text()
		}
		if got != test.want {
			t.Errorf("%s: %s; want %s", test.name, got, test.want)
		}
	}
}

// drawPolicy is any policy for the fleets of an input.
func drawPolicy(t *rapid.T) (p fleet.InstallationPolicy) {
	p.HostileIsolation = rapid.SampledFrom([]string{"", "vm", "microvm"}).Draw(t, "hostile isolation")
	for n := range rapid.IntRange(1, 3).Draw(t, "entitlements") {
		p.Entitlements = append(p.Entitlements, fleet.Entitlement{
			Name: fmt.Sprint("e", n), Class: rapid.SampledFrom([]string{"c", "d"}).Draw(t, "class"),
			Tenants:  rapid.SampledFrom([][]string{nil, {"acme"}, {"acme", "globex"}}).Draw(t, "tenants"),
			Projects: rapid.SampledFrom([][]string{{"kernel"}, {"web"}}).Draw(t, "projects"),
			Max:      rapid.IntRange(0, 3).Draw(t, "max"),
		})
	}
	return p
}

// drawOwners makes fleets and jobs of an input somebody's.
func drawOwners(t *rapid.T, in input) input {
	in.Fleets = slices.Clone(in.Fleets)
	for n := range in.Fleets {
		f := &in.Fleets[n]
		f.Class.Name = rapid.SampledFrom([]string{"c", "c", "d"}).Draw(t, "class")
		f.Class.Isolation = rapid.SampledFrom([]string{"", "vm", "microvm"}).Draw(t, "isolation")
		f.Scope = rapid.SampledFrom([]fleet.FleetScope{{}, {}, {Tenant: "acme"}, {Project: "kernel"}}).Draw(t, "scope")
	}
	d := in.Demand[ci]
	for n := range d.Snapshot.Queued {
		r := &d.Snapshot.Queued[n].Requirement
		r.Tenant, r.Project = rapid.SampledFrom([]string{"", "acme", "globex"}).
			Draw(t, "tenant"),
			rapid.SampledFrom([]string{"", "kernel", "web"}).
				Draw(t, "project")
		r.Hostile = rapid.Bool().Draw(t, "hostile")
	}
	return in
}

func TestAPolicyNeverMakesAnythingEligibleThatIsNotWithoutIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawOwners(t, drawDemand(t))
		policy, before := drawPolicy(t), fleet.InstallationPolicy{}
		if rapid.Bool().Draw(t, "some entitlements before") {
			before.Entitlements, before.HostileIsolation = policy.Entitlements[:len(policy.Entitlements)-1],
				policy.HostileIsolation
		} else {
			policy.HostileIsolation = ""
		}
		for _, d := range in.Demand[ci].Snapshot.Queued {
			for _, f := range in.Fleets {
				without, with := eligible(&before, &d, &f), eligible(&policy, &d, &f)
				// Another entitlement to a class that has one opens it to others: of two
				// policies with entitlements the class is the same when both limit it.
				limited := len(before.EntitlementsTo(f.Class.Name)) > 0
				if with.ok() && !without.ok() && !limited {
					t.Fatalf(
						"%+v may use %s by %+v, and without it: %s",
						d.Requirement,
						f.Address,
						policy.Entitlements,
						without.reason,
					)
				}
				if with.ok() && !eligible(&fleet.InstallationPolicy{HostileIsolation: policy.HostileIsolation}, &d, &f).ok() {
					t.Fatalf("%+v may use %s by entitlements alone", d.Requirement, f.Address)
				}
			}
		}
	})
}

func TestWhateverTheEntitlementsTheirLimitsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawOwners(t, drawDemand(t))
		in.Policy = drawPolicy(t)
		out := planInput(in)
		if again := planInput(shuffled(t, in)); !cmp.Equal(out, again) {
			t.Fatalf("the same input in another order gives another plan:\n%s", cmp.Diff(out, again))
		}
		for _, class := range []string{"c", "d"} {
			allowed, unlimited := 0, false
			for _, e := range in.Policy.EntitlementsTo(class) {
				allowed, unlimited = allowed+e.Max, unlimited || e.Max == 0
			}
			created, there := 0, 0
			for n, p := range out.Fleets {
				if in.Fleets[slices.IndexFunc(in.Fleets, func(f fleet.ManagedFleet) bool {
					return f.ID == out.Fleets[n].Fleet
				})].Class.Name == class {
					created, there = created+p.Create, there+p.Counts.Footprint
				}
			}
			if len(in.Policy.EntitlementsTo(class)) > 0 && !unlimited && created > 0 && there+created > allowed {
				t.Fatalf("%d of %q are there, %d more start, and %d are allowed", there, class, created, allowed)
			}
		}
	})
}

func TestAFleetThatThePolicyNoLongerAllowsStaysAndIsShown(t *testing.T) {
	f := burst(2, 4, 0)
	f.Lifetime, f.Placement.Regions = fleet.LifetimePreemptible, []string{"us"}
	in := input{
		Now:          now,
		AgentVersion: agentVersion,
		Fleets:       []fleet.ManagedFleet{f},
		Instances:    instances(f, fleet.Healthy, fleet.Healthy),
		Demand:       demand(),
		Policy: fleet.InstallationPolicy{
			Lifetimes: []fleet.LifetimeClass{fleet.LifetimeStable},
			Regions:   []string{"eu"},
		},
	}
	p := planInput(in).Fleets[0]
	if story(p) != "nothing" || len(p.Overrides) != 2 ||
		!strings.Contains(p.Overrides[0].Text(), "the lifetime preemptible") ||
		!strings.Contains(p.Overrides[1].Text(), `the region "us"`) {
		t.Errorf("%s; it says %q", story(p), p.Overrides)
	}
}

func TestWhatIsWhereTheFleetMayNotBeAnyMoreIsReplacedAfterItsJobs(t *testing.T) {
	f := trading(2, 3)
	f.Placement.Regions = []string{"eu"}
	abroad := lot("x", "m", 1)
	abroad.Region = "us"
	in := selling(f, nil, lot("a", "m", 100), abroad)
	in.Instances = instances(f, fleet.Healthy, fleet.Healthy)
	in.Instances[0].Zone, in.Instances[1].Zone = "x", "a"
	in.Instances[0].Leases, in.Instances[0].Busy = 1, true
	p := planInput(in).Fleets[0]
	if story(p) != "drain i00 (rollout)" || len(p.Drifted) != 1 ||
		p.Drifted[0].Reason != reason.Of(reason.RegionDisallowed{Region: "us"}) {
		t.Errorf("%s; drifted %+v", story(p), p.Drifted)
	}
}

func TestRunnerUnfitForHostileJobsIsReplaced(t *testing.T) {
	f := burst(1, 2, 0)
	f.Class.Isolation = "vm"
	i := instance(f, 0, fleet.Healthy)
	i.Scheduling = fleet.Scheduling{Scheduler: ci, Ref: "r", Hostile: true}
	in := input{
		Now:          now,
		AgentVersion: agentVersion,
		Fleets:       []fleet.ManagedFleet{f},
		Instances:    []snapshot.Instance{i},
		Demand:       demand(),
	}
	if p := planInput(in).Fleets[0]; len(p.Drifted) != 0 {
		t.Errorf("by a policy that allows it: %+v", p.Drifted)
	}
	in.Policy.HostileIsolation = "microvm"
	if p := planInput(in).Fleets[0]; len(p.Drifted) != 1 || p.Drifted[0].Reason != reason.Of(reason.HostileDisallowed{}) {
		t.Errorf("by one that doesn't: %+v", p.Drifted)
	}
}

func TestAReservationForSomebodyWhoIsNotEntitledCannotBeHad(t *testing.T) {
	f := burst(0, 4, 0)
	r := fleet.CapacityReservation{
		Name:     "r",
		Class:    f.Class,
		Quantity: 2,
		Start:    now.Add(-time.Hour),
		End:      now.Add(time.Hour),
	}
	in := input{
		Now:    now,
		Fleets: []fleet.ManagedFleet{f},
		Demand: demand(),
		Policy: entitling(fleet.Entitlement{Name: "gold", Class: "c", Tenants: []string{"acme"}}),
	}
	for tenant, want := range map[string]string{"acme": "", "": "",
		"globex": `reservation.r can't be kept: tenant "globex" is not entitled to the class "c"`} {
		r.Scope.Tenant = tenant
		in.Reservations = []fleet.CapacityReservation{r}
		out := planInput(in)
		if got := out.Reservations[0].Reason.Text(); got != want || (out.Fleets[0].Create == 2) != (want == "") {
			t.Errorf("for %q: %q, and %s", tenant, got, stories(out))
		}
	}
}
