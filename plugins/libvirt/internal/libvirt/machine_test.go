package libvirt

import (
	"errors"
	"maps"
	"slices"
	"testing"

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
	if ids := slices.Sorted(maps.Keys(listed)); !slices.Equal(ids, []string{"a/default/inst.k1.qcow2", "a/default/inst.k1.seed.iso", "a/k1"}) {
		t.Errorf("listed %v", ids)
	}
	want := requestFor("k1", idle())
	if got := listed["a/k1"]; !maps.Equal(got.Tags, want.Tags) || got.Key != "k1" || got.Fleet != "linux" || got.Image != want.Image || got.InstanceDigest != "digest-1" || got.Created.IsZero() {
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
		"a network that isn't there": {func(r *provider.ProvisionRequest[Instance]) { r.Instance.Network = "network:nowhere" }, provider.Invalid},
		"an image that isn't there":  {func(r *provider.ProvisionRequest[Instance]) { r.Image = "pool:default/nothing.qcow2" }, provider.Invalid},
		"a pool that isn't there":    {func(r *provider.ProvisionRequest[Instance]) { r.Image = "pool:nowhere/base.qcow2" }, provider.Invalid},
		"a kernel that isn't there":  {func(r *provider.ProvisionRequest[Instance]) { r.Instance.Kernel = "/nowhere/vmlinuz" }, 0},
		"another architecture": {func(r *provider.ProvisionRequest[Instance]) {
			r.Platform = provider.Platform{OS: "linux", Arch: "arm64"}
		}, provider.Invalid},
		"no image":                      {func(r *provider.ProvisionRequest[Instance]) { r.Image = "" }, provider.Invalid},
		"a bootstrap that isn't known":  {func(r *provider.ProvisionRequest[Instance]) { r.Bootstrap.Kind = "ignition" }, provider.Invalid},
		"more memory than the host has": {func(r *provider.ProvisionRequest[Instance]) { r.Instance.Memory = "65GiB" }, provider.Capacity},
		"hosts that aren't there":       {func(r *provider.ProvisionRequest[Instance]) { r.Instance.Hosts = []string{"b"} }, provider.Invalid},
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
