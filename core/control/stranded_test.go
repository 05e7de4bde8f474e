package control

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

func TestAChangedAddressOfTheManagerWarnsOfTheHostsThatKnowTheOldOne(t *testing.T) {
	old := fleet.ManagerSettings{Listen: "10.0.0.1:7443", Advertise: "https://fleet.example:7443"}
	two := store.State{Instances: []fleet.CapacityInstance{{ID: "a", State: fleet.Healthy}, {ID: "b", State: fleet.Bootstrapping}}}
	for _, c := range []struct {
		name  string
		after fleet.ManagerSettings
		state store.State
		warns bool
	}{
		{"nothing changed", old, two, false},
		{"another port", fleet.ManagerSettings{Listen: "10.0.0.1:8443", Advertise: old.Advertise}, two, true},
		{"another URL", fleet.ManagerSettings{Listen: old.Listen, Advertise: "https://other.example"}, two, true},
		{"another folder of agents", fleet.ManagerSettings{Listen: old.Listen, Advertise: old.Advertise, Agents: "/agents"}, two, false},
		{"nobody is there to be stranded", fleet.ManagerSettings{}, store.State{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := stranded(old, c.after, c.state)
			if (len(found) == 1) != c.warns {
				t.Fatalf("the warnings are %v", found)
			}
			if c.warns && (!strings.Contains(found[0].Summary, "2 hosts") || !strings.Contains(found[0].Detail, old.Advertise)) {
				t.Errorf("it says %s: %s", found[0].Summary, found[0].Detail)
			}
		})
	}
}
