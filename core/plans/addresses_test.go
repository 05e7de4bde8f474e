package plans

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func TestChangedManagerAddressWarnsOfHostsWithTheOldOne(t *testing.T) {
	old := fleet.ManagerSettings{Listen: "10.0.0.1:7443", Advertise: "https://fleet.example:7443"}
	two := snapshot.State{
		Instances: []fleet.CapacityInstance{{ID: "a", State: fleet.Healthy}, {ID: "b", State: fleet.Bootstrapping}},
	}
	for _, c := range []struct {
		name  string
		after fleet.ManagerSettings
		state snapshot.State
		warns bool
	}{
		{"nothing changed", old, two, false},
		{"another port", fleet.ManagerSettings{Listen: "10.0.0.1:8443", Advertise: old.Advertise}, two, true},
		{"another URL", fleet.ManagerSettings{Listen: old.Listen, Advertise: "https://other.example"}, two, true},
		{"another folder of agents", fleet.ManagerSettings{Listen: old.Listen, Advertise: old.Advertise, Agents: "/agents"},
			two, false},
		{"no instance depends on the address", fleet.ManagerSettings{}, snapshot.State{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := warnOldAddress(fleet.Definition{Manager: old}, fleet.Definition{Manager: c.after}, c.state)
			if (len(found) == 1) != c.warns {
				t.Fatalf("the warnings are %v", found)
			}
			if c.warns && (!strings.Contains(found[0].Summary, "2 hosts") || !strings.Contains(found[0].Detail, old.Advertise)) {
				t.Errorf("it says %s: %s", found[0].Summary, found[0].Detail)
			}
		})
	}
}

// A serve that was started before the first apply chose a port; the file's listen was
// applied without a word, and each host failed at an address where no one answered.
func TestAListenThatTheRunningManagerDoesNotFollowIsWarnedOf(t *testing.T) {
	for name, c := range map[string]struct {
		now   *Listening
		file  string
		warns bool
	}{
		"no manager runs":                  {nil, "127.0.0.1:7443", false},
		"it was started before any apply":  {&Listening{"", "127.0.0.1:40267"}, "127.0.0.1:7443", true},
		"it was started with another":      {&Listening{"127.0.0.1:7442", "127.0.0.1:7442"}, "127.0.0.1:7443", true},
		"it follows it":                    {&Listening{"127.0.0.1:7443", "127.0.0.1:7443"}, "127.0.0.1:7443", false},
		"every address is one that it has": {&Listening{"0.0.0.0:7443", "[::]:7443"}, "0.0.0.0:7443", false},
		"it chose that port by itself":     {&Listening{"", "127.0.0.1:7443"}, "127.0.0.1:7443", false},
		"the file leaves it to it":         {&Listening{"", "127.0.0.1:40267"}, "", false},
	} {
		found := warnIgnoredListen(c.now, fleet.Definition{Manager: fleet.ManagerSettings{Listen: c.file}})
		if (len(found) == 1) != c.warns {
			t.Errorf("%s: the warnings are %v", name, found)
		}
		if c.warns &&
			(len(found) == 0 || !strings.Contains(found[0].Detail, c.now.At) || !strings.Contains(found[0].Summary, c.file)) {
			t.Errorf("%s: it says %v", name, found)
		}
	}
}

func TestAProvidersOwnAddressConcernsItsHostsAlone(t *testing.T) {
	definition := fleet.Definition{
		Manager:   fleet.ManagerSettings{Listen: "127.0.0.1:7443", Advertise: "https://fleet.example:7443/"},
		Providers: []fleet.Provider{{Address: "libvirt.lab", Advertise: "https://10.0.2.2:7443"}, {Address: "local.here"}},
	}
	after := definition
	after.Providers = []fleet.Provider{
		{Address: "libvirt.lab", Advertise: "https://10.0.2.2:8443"},
		{Address: "local.here"},
	}
	state := snapshot.State{Instances: []fleet.CapacityInstance{
		{ID: "a", State: fleet.Healthy, Provider: "libvirt.lab"}, {ID: "b", State: fleet.Healthy, Provider: "local.here"},
	}}
	if found := warnOldAddress(
		definition,
		after,
		state,
	); len(found) != 1 || !strings.Contains(found[0].Summary, "1 host") ||
		!strings.Contains(found[0].Detail, "https://10.0.2.2:7443") {
		t.Errorf("the warnings are %v", found)
	}
}
