package libvirt

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	api "github.com/digitalocean/go-libvirt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

func TestAMachineIsMadeListedWithWhatItHasAndLeavesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	made := provision(t, p, "k1")
	if made.ID != "a/k1" || made.State != provider.Running || made.Zone != "a" || made.Existed {
		t.Errorf("made %+v", made)
	}
	listed := list(t, p)
	if ids := slices.Sorted(maps.Keys(listed)); !slices.Equal(ids,
		[]string{"a/default/inst.k1.qcow2", "a/default/inst.k1.seed.iso", "a/k1"}) {
		t.Errorf("listed %v", ids)
	}
	want := requestFor("k1", idle())
	if got := listed["a/k1"]; !maps.Equal(got.Tags, want.Tags) || got.Key != "k1" || got.Fleet != "linux" ||
		got.Image != want.Image || got.InstanceDigest != "digest-1" || got.Created.IsZero() {
		t.Errorf("listed %+v", got)
	}
	for _, part := range []string{"a/default/inst.k1.qcow2", "a/default/inst.k1.seed.iso"} {
		if got := listed[part]; got.BelongsTo != "a/k1" || got.Key != "k1" || got.Kind == "" {
			t.Errorf("listed %+v", got)
		}
	}

	again, err := p.Provision(t.Context(), want)
	if err != nil || !again.Existed || again.ID != made.ID {
		t.Errorf("the same key again: %+v, %v", again, err)
	}
	terminate(t, p, "a/k1", "k1")
	terminate(t, p, "a/k1", "k1") // of what is gone
	terminate(t, p, "", "k9")     // of what never was
	l.shouldBeEmpty(t)
}

func TestARefusedStartLeavesNothingAndSaysSo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	for name, test := range map[string]struct {
		change func(*provider.ProvisionRequest[Instance])
		class  provider.Class
	}{
		"a network that isn't there": {func(r *provider.ProvisionRequest[Instance]) {
			r.Instance.Network = "network:nowhere"
		}, provider.Invalid},
		"an image that isn't there": {func(r *provider.ProvisionRequest[Instance]) {
			r.Image = "pool:default/nothing.qcow2"
		}, provider.Invalid},
		"a pool that isn't there": {func(r *provider.ProvisionRequest[Instance]) {
			r.Image = "pool:nowhere/base.qcow2"
		}, provider.Invalid},
		"a kernel that isn't there": {func(r *provider.ProvisionRequest[Instance]) {
			r.Instance.Kernel = "/nowhere/vmlinuz"
		}, 0},
		"another architecture": {func(r *provider.ProvisionRequest[Instance]) {
			r.Platform = provider.Platform{OS: "linux", Arch: "arm64"}
		}, provider.Invalid},
		"no image": {func(r *provider.ProvisionRequest[Instance]) { r.Image = "" }, provider.Invalid},
		"a bootstrap that isn't known": {func(r *provider.ProvisionRequest[Instance]) {
			r.Bootstrap.Kind = "ignition"
		}, provider.Invalid},
		"more memory than the host has": {func(r *provider.ProvisionRequest[Instance]) {
			r.Instance.Memory = "65GiB"
		}, provider.Capacity},
		"hosts that aren't there": {func(r *provider.ProvisionRequest[Instance]) {
			r.Instance.Hosts = []string{"b"}
		}, provider.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			request := requestFor("k1", idle())
			test.change(&request)
			_, err := p.Provision(t.Context(), request)
			detailed, classed := errors.AsType[*provider.Error](err)
			if !provider.IsNotCreated(err) || !classed || test.class != 0 && detailed.Class != test.class {
				t.Errorf("got %v of class %v", err, detailed.Class)
			}
			l.shouldBeEmpty(t)
		})
	}
}

func TestAnImageThatIsNoDiskIsRefusedBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	base, err := os.ReadFile(filepath.Join(l.dir, "pool", "base.qcow2"))
	if err != nil {
		t.Fatal(err)
	}
	iso := make([]byte, 2<<20)
	copy(iso[32769:], "CD001")
	for name, test := range map[string]struct {
		content []byte
		want    string // empty: it will do
	}{
		"déb ian&<1>\".qcow2": {base, ""},
		"page.qcow2":          {[]byte("<html>404 Not Found</html>"), "isn't in the qcow2 format"},
		"base.qcow2.xz":       {bytes.Repeat([]byte("x"), 2<<20), "is packed"},
		"empty.img":           {nil, "has 0 bytes"},
		"setup.iso":           {iso, `is of the form "iso"`},
	} {
		path := filepath.Join(l.dir, "pool", name)
		if err := os.WriteFile(path, test.content, 0o600); err != nil {
			t.Fatal(err)
		}
		request := requestFor("k1", idle())
		request.Image = "pool:default/" + name
		_, err := p.Provision(t.Context(), request)
		if test.want == "" && err != nil ||
			test.want != "" && (!provider.IsNotCreated(err) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", name, err)
		}
		terminate(t, p, "a/k1", "k1")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	l.shouldBeEmpty(t)
}

func TestWhatAHostLacksIsSaidWithTheCommandThatGivesIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	l.do(t, func(c *api.Libvirt) error {
		_, err := c.NetworkDefineXML("<network><name>asleep</name></network>")
		return err
	})
	refuse := func(want string, change func(*provider.ProvisionRequest[Instance])) {
		t.Helper()
		request := requestFor("k1", idle())
		change(&request)
		if _, err := p.Provision(t.Context(), request); !provider.IsNotCreated(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v: it lacks %q", err, want)
		}
	}
	refuse("virsh net-start asleep", func(r *provider.ProvisionRequest[Instance]) {
		r.Instance.Network = "network:asleep"
	})
	refuse("virsh net-define", func(r *provider.ProvisionRequest[Instance]) { r.Instance.Network = "network:nowhere" })
	refuse("put the image's file into "+l.dir+"/pool", func(r *provider.ProvisionRequest[Instance]) {
		r.Image = "pool:default/nothing"
	})
	refuse("virsh pool-define-as", func(r *provider.ProvisionRequest[Instance]) { r.Image = "pool:nowhere/base.qcow2" })
	l.do(t, func(c *api.Libvirt) error {
		pool, err := c.StoragePoolLookupByName("default")
		return errors.Join(err, c.StoragePoolDestroy(pool))
	})
	refuse("virsh pool-start default", func(*provider.ProvisionRequest[Instance]) {})
	for _, err := range p.Inspect(t.Context(), provider.Query{}) {
		if err == nil || !strings.Contains(err.Error(), "virsh pool-start default") {
			t.Errorf("without its pool: %v", err)
		}
	}

	big, elsewhere := idle(), idle()
	big.Memory, elsewhere.Hosts = "65GiB", []string{"b"}
	for want, instance := range map[string]Instance{"host a has 64 and 64 GiB": big, `["b"] names none`: elsewhere} {
		if offers, err := p.Offers(t.Context(), instance); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, %v: it lacks %q", offers, err, want)
		}
	}
	l.shouldBeEmpty(t)
}
