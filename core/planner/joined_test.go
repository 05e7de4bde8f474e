package planner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// joinedFleet is a fleet of joined hosts of one inventory.
func joinedFleet(min, max int, hosts string) fleet.ManagedFleet {
	f := fleet.ManagedFleet{ID: "f1", Operational: fleet.FleetActive}
	f.Address, f.Provider, f.Joined = "fleet.lab", "manual.lab", true
	f.Class.Platform = fleet.Platform{OS: "linux", Arch: "x86_64"}
	f.Scaling = fleet.ScalingPolicy{Min: min, Max: max}
	f.Instance = []byte(hosts)
	return f
}

func inventory(names ...string) map[fleet.ProviderAddress][]fleet.Asset {
	var assets []fleet.Asset
	for _, name := range names {
		assets = append(assets, fleet.Asset{ID: name, Platform: fleet.Platform{OS: "linux", Arch: "x86_64"}})
	}
	return map[fleet.ProviderAddress][]fleet.Asset{"manual.lab": assets}
}

// onHost is the fleet's instance on a host.
func onHost(f fleet.ManagedFleet, host string, state fleet.CapacityInstanceState) snapshot.Instance {
	i := fleet.CapacityInstance{
		ID: fleet.CapacityInstanceID("i-" + host), Fleet: f.ID, Provider: f.Provider, Asset: host, State: state, Runner: "r",
		Class: f.Class.ID(), Image: f.Image.ID("0.1.0"), InstanceDigest: f.InstanceDigest(),
	}
	if state == fleet.Provisioning || state == fleet.Bootstrapping {
		i.Runner = ""
	}
	return snapshot.Instance{CapacityInstance: i}
}

func planJoined(
	f fleet.ManagedFleet,
	assets map[fleet.ProviderAddress][]fleet.Asset,
	instances ...snapshot.Instance,
) FleetPlan {
	return planInput(
		input{Fleets: []fleet.ManagedFleet{f}, Instances: instances, Assets: assets, AgentVersion: "0.1.0"}).Fleets[0]
}

func hostsOf(p FleetPlan) string {
	var names []string
	for _, h := range p.ToJoin {
		names = append(names, h.Host)
	}
	return strings.Join(names, " ")
}

func TestMinMakesNoHostThatAPersonHasToJoin(t *testing.T) {
	p := planJoined(joinedFleet(2, 3, `{}`), inventory("a", "b"))
	if p.Create != 0 || len(p.Actions) > 0 || p.Desired != 2 || !p.Reached() {
		t.Errorf("it makes %d of %d wanted, %v, reached %t", p.Create, p.Desired, p.Actions, p.Reached())
	}
	if hostsOf(p) != "a b" {
		t.Errorf("to join: %v", p.ToJoin)
	}
}

func TestAnUnjoinedHostIsNeitherCapacityNorFootprint(t *testing.T) {
	f := joinedFleet(1, 3, `{}`)
	p := planJoined(f, inventory("a", "b"), onHost(f, "a", fleet.Bootstrapping), onHost(f, "b", fleet.Healthy))
	want := Counts{Footprint: 1, Capacity: 1, Ready: 1, Idle: 1, Joining: 1}
	if diff := cmp.Diff(want, p.Counts); diff != "" || p.Desired != 1 || len(p.Actions) > 0 {
		t.Errorf("desired %d, %v\n%s", p.Desired, p.Actions, diff)
	}
	if hostsOf(p) != "a" {
		t.Errorf("to join: %v", p.ToJoin)
	}
}

func TestMaxBindsWhatMayBeJoined(t *testing.T) {
	f := joinedFleet(0, 2, `{}`)
	p := planJoined(f, inventory("a", "b", "c"), onHost(f, "a", fleet.Bootstrapping), onHost(f, "b", fleet.Draining))
	if hostsOf(p) != "a" {
		t.Errorf("max = 2 is held by a claim and by what drains, and yet: %v", p.ToJoin)
	}
}

func TestAFleetTakesTheHostsThatItsFileChooses(t *testing.T) {
	assets := inventory("a", "b", "c")
	assets["manual.lab"][1].Labels = map[string]string{"disk": "ssd"}
	assets["manual.lab"][2].Platform.OS = "darwin"
	for choice, want := range map[string]string{
		`{}`: "a b", `{"hosts":["a","c"]}`: "a", `{"labels":{"disk":"ssd"}}`: "b",
		`{"hosts":["a"],"labels":{"disk":"ssd"}}`: "",
	} {
		if got := hostsOf(planJoined(joinedFleet(0, 9, choice), assets)); got != want {
			t.Errorf("%s takes %q, want %q", choice, got, want)
		}
	}
}

func TestAHostThatTwoFleetsCouldTakeIsAmbiguous(t *testing.T) {
	one, two := joinedFleet(0, 9, `{"hosts":["a","b"]}`), joinedFleet(0, 9, `{"hosts":["b"]}`)
	two.ID, two.Address = "f2", "fleet.other"
	plans := planInput(input{Fleets: []fleet.ManagedFleet{one, two}, Assets: inventory("a", "b")}).Fleets
	want := []HostToJoin{{Host: "a"}, {Host: "b", Ambiguous: true}}
	if diff := cmp.Diff(want, plans[0].ToJoin); diff != "" {
		t.Error(diff)
	}
}

func TestAHostThatLeftTheFileIsReleasedAndItsClaimWithdrawn(t *testing.T) {
	f := joinedFleet(0, 9, `{"hosts":["a","b"]}`)
	p := planJoined(
		f,
		inventory("b"),
		onHost(f, "a", fleet.Healthy),
		onHost(f, "b", fleet.Healthy),
		onHost(f, "c", fleet.Bootstrapping),
	)
	if len(p.Actions) != 2 || p.Actions[0].Kind != Withdraw || p.Actions[0].Instance != "i-c" ||
		p.Actions[1].Kind != Drain ||
		p.Actions[1].Instance != "i-a" {
		t.Errorf("actions: %+v", p.Actions)
	}
	// Nothing is concluded about a provider that can't be seen.
	unobserved := planInput(
		input{Fleets: []fleet.ManagedFleet{f}, Instances: []snapshot.Instance{onHost(f, "a", fleet.Healthy)},
			Assets: inventory("b"),
			Unobserved: map[fleet.ProviderAddress]reason.Reason{
				"manual.lab": reason.Of(reason.InspectionFailed{Message: "down"})}, AgentVersion: "0.1.0"}).Fleets[0]
	if len(unobserved.Actions) > 0 {
		t.Errorf("unobserved, it does %+v", unobserved.Actions)
	}
}

func TestOutdatedJoinedHostsAreDrainedAsFarAsMinAllows(t *testing.T) {
	f := joinedFleet(2, 9, `{}`)
	old := func(host string) snapshot.Instance {
		i := onHost(f, host, fleet.Healthy)
		i.Class = "another one"
		return i
	}
	p := planJoined(f, inventory("a", "b", "c"), old("a"), old("b"), old("c"))
	if len(p.Actions) != 1 || p.Actions[0].Kind != Drain || p.Reached() {
		t.Errorf("with one to spare: %+v", p.Actions)
	}
	f.Scaling.Min = 3
	if p = planJoined(f, inventory("a", "b"), old("a"), old("b")); len(p.Actions) > 0 || !p.Reached() {
		t.Errorf("with one missing already: %+v", p.Actions)
	}
}

func TestARemovedFleetTakesItsClaimsBack(t *testing.T) {
	f := joinedFleet(1, 9, `{}`)
	f.Operational = fleet.FleetDraining
	p := planJoined(f, inventory("a", "b"), onHost(f, "a", fleet.Bootstrapping), onHost(f, "b", fleet.Healthy))
	if len(p.ToJoin) > 0 || len(p.Actions) != 1 || p.Actions[0].Kind != Withdraw {
		t.Errorf("%v, %+v", p.ToJoin, p.Actions)
	}
}
