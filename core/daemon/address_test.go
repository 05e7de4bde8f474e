package daemon

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
)

func TestARunningManagerIsKnownToListen(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	listener, err := m.Listen(t.Context(), fleet.ManagerSettings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context(), listener); err != nil {
		t.Fatal(err)
	}
	if now := m.listens.Load(); now == nil || now.At != listener.Addr().String() {
		t.Errorf("a manager that was started is known to listen at %+v", now)
	}
	if err := m.Stop(nil); err != nil || m.listens.Load() != nil {
		t.Errorf("stopped with %v, and it is known to listen at %+v", err, m.listens.Load())
	}
}

// What a stopped manager saw last would be taken for what is so now.
func TestStoppedManagerObservesNothing(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	listener, err := m.Listen(t.Context(), fleet.ManagerSettings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context(), listener); err != nil {
		t.Fatal(err)
	}
	if m.observed().Since.IsZero() {
		t.Error("a manager that was started listens to no one")
	}
	if err := m.Stop(nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(snapshot.Observations{}, m.observed()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAProvidersOwnAddressOfTheManagerReachesItsHostsAlone(t *testing.T) {
	definition := fleet.Definition{
		Manager:   fleet.ManagerSettings{Listen: "127.0.0.1:7443", Advertise: "https://fleet.example:7443/"},
		Providers: []fleet.Provider{{Address: "libvirt.lab", Advertise: "https://10.0.2.2:7443"}, {Address: "local.here"}},
	}
	for provider, want := range map[fleet.ProviderAddress]string{
		"libvirt.lab": "https://10.0.2.2:7443", "local.here": "https://fleet.example:7443",
		"local.gone": "https://fleet.example:7443",
	} {
		if got := advertised(definition, provider, nil); got != want {
			t.Errorf("hosts of %s are told %s, not %s", provider, got, want)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if got := advertised(fleet.Definition{}, "local.here", listener); got != "https://"+listener.Addr().String() {
		t.Errorf("without any address hosts are told %s", got)
	}
}
