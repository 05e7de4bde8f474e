package manual

import (
	"slices"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

var lab = Config{Hosts: []Host{
	{Name: "C02-1", OS: "darwin", Arch: "arm64", Address: "10.0.0.5", Labels: map[string]string{"rack": "b"},
		Notes: "under the desk"},
	{Name: "lin-1", OS: "linux", Arch: "x86_64", Address: "lin-1.lab"},
}}

func configured(t *testing.T) provider.Provider[Instance] {
	t.Helper()
	p, err := newInventory(t.Context(), lab, provider.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestThePluginIsDeclaredWell(t *testing.T) {
	if err := Plugin().Check(); err != nil {
		t.Error(err)
	}
}

func TestEveryHostIsListedAsAnAsset(t *testing.T) {
	var names []string
	for r, err := range configured(t).Inspect(t.Context(), provider.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind != "asset" || r.Key != "" || r.State != provider.Running {
			t.Errorf("%+v isn't an asset, or claims an owner", r)
		}
		names = append(names, r.ID)
		if r.ID == "C02-1" &&
			(r.Tags["os"] != "darwin" || r.Tags["arch"] != "arm64" || r.Tags["rack"] != "b" || r.Detail != "under the desk" ||
				!slices.Equal(r.Addresses, []string{"10.0.0.5"})) {
			t.Errorf("its platform, label or address is missing: %+v", r)
		}
		if r.ID == "lin-1" && len(r.Addresses) > 0 {
			t.Errorf("%q isn't an address that a call could come from", r.Addresses)
		}
	}
	if !slices.Equal(names, []string{"C02-1", "lin-1"}) {
		t.Errorf("listed: %v", names)
	}
}

func TestAClaimedHostIsThereHoweverOftenItIsAskedFor(t *testing.T) {
	request := provider.ProvisionRequest[Instance]{Key: "k1", Asset: "lin-1",
		Platform: provider.Platform{OS: "linux", Arch: "x86_64"}}
	for range 2 {
		r, err := configured(t).Provision(t.Context(), request)
		if err != nil || r.ID != "lin-1" || !r.Existed {
			t.Fatalf("%+v, %v", r, err)
		}
	}
}

func TestWhatIsNoHostOfTheInventoryIsRefusedForSure(t *testing.T) {
	linux := provider.Platform{OS: "linux", Arch: "x86_64"}
	for name, request := range map[string]provider.ProvisionRequest[Instance]{
		"no host was claimed":      {Key: "k1", Platform: linux},
		"the inventory has no":     {Key: "k1", Asset: "gone", Platform: linux},
		"the host C02-1 is darwin": {Key: "k1", Asset: "C02-1", Platform: linux},
	} {
		if _, err := configured(t).Provision(t.Context(), request); !provider.IsNotCreated(err) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("want a certain refusal with %q, got %v", name, err)
		}
	}
}

func TestAReleasedHostIsGoneWithoutBeingTouched(t *testing.T) {
	if state, err := configured(t).Terminate(t.Context(), provider.Ref{ID: "lin-1", Key: "k1"}); state != provider.Gone ||
		err != nil {
		t.Errorf("%v, %v", state, err)
	}
}

func TestMistakesInAnInventoryAreTold(t *testing.T) {
	good := Host{Name: "a", OS: "linux", Arch: "arm64"}
	with := func(change func(*Host)) []Host {
		other := good
		other.Name = "b"
		change(&other)
		return []Host{good, other}
	}
	for want, hosts := range map[string][]Host{
		`host[1].name: The name "a" is used twice`:              with(func(h *Host) { h.Name = "a" }),
		`host[1].name: "a b" can't be the name of a host`:       with(func(h *Host) { h.Name = "a b" }),
		`host[1].os: There is no agent for the system "beos"`:   with(func(h *Host) { h.OS = "beos" }),
		`host[1].os: Hosts with Windows can't be joined yet`:    with(func(h *Host) { h.OS = "windows" }),
		`host[1].arch: There is no agent for the processor "z"`: with(func(h *Host) { h.Arch = "z" }),
		`host[1].labels: "os" can't be a label`: with(func(h *Host) {
			h.Labels = map[string]string{"os": "x"}
		}),
	} {
		found := Config{Hosts: hosts}.Validate()
		if len(found) != 1 || !strings.HasPrefix(found[0].Error(), want) || found[0].Detail == "" {
			t.Errorf("want %q with an advice, got %v", want, found)
		}
	}
	if found := lab.Validate(); len(found) > 0 {
		t.Errorf("nothing is wrong with it: %v", found)
	}
	if found := (Instance{Hosts: []string{"ok", "-"}}).Validate(); len(found) != 1 ||
		found[0].Path.String() != "hosts[1]" {
		t.Errorf("an instance with a bad host: %v", found)
	}
}
