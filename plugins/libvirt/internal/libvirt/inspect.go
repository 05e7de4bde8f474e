package libvirt

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	api "github.com/digitalocean/go-libvirt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// The kinds of what belongs to a machine.
const (
	kindVolume = "volume"
	kindSeed   = "seed"
	kindNVRAM  = "nvram"
)

// Inspect yields the machines of the installation on every host, and what belongs
// to them. A host that can't be seen makes the list incomplete; the others are
// shown all the same.
func (p *hosts) Inspect(ctx context.Context, _ provider.Query) iter.Seq2[provider.Resource, error] {
	return func(yield func(provider.Resource, error) bool) {
		seen := make([][]provider.Resource, len(p.all))
		failed := make([]error, len(p.all))
		var looking sync.WaitGroup
		for n, h := range p.all {
			looking.Go(func() { seen[n], failed[n] = p.look(ctx, h) })
		}
		looking.Wait()
		belong(seen)
		for _, resources := range seen {
			for _, resource := range resources {
				if !yield(resource, nil) {
					return
				}
			}
		}
		if err := errors.Join(failed...); err != nil {
			yield(provider.Resource{}, &provider.Error{Class: worst(failed), Err: err})
			return
		}
		if err := p.memory.check(p.all, seen); err != nil {
			yield(provider.Resource{}, err)
		}
	}
}

// look lists what one host has of ours.
func (p *hosts) look(ctx context.Context, h *host) ([]provider.Resource, error) {
	own, err := p.ownPool(ctx, h)
	if err != nil {
		return nil, err
	}
	// Volumes first: a volume is made after its domain, so the domain of one that is
	// seen is there to be seen after it.
	volumes, err := h.ownVolumes(ctx, own, p.installation)
	if err != nil {
		return nil, err
	}
	guests, err := h.guests(ctx)
	if err != nil {
		return nil, err
	}
	var found []provider.Resource
	for _, g := range guests {
		if g.record == nil || g.record.Installation != p.installation {
			continue
		}
		found = append(found, g.resource())
		if nvram := g.nvram(); nvram != "" {
			found = append(found, provider.Resource{
				ID: h.name + "/nvram/" + g.domain.Name, Key: g.record.Key, BelongsTo: g.id(), Kind: kindNVRAM,
				Zone: h.name, State: provider.Running, Detail: nvram,
			})
		}
	}
	for _, name := range volumes {
		key, end, _ := partOf(p.installation, name)
		kind := kindVolume
		if end == seedEnd {
			kind = kindSeed
		}
		found = append(found, provider.Resource{
			ID: h.volumeID(name), Key: key, BelongsTo: h.guestID(key), Kind: kind, Zone: h.name, State: provider.Running,
		})
	}
	return found, nil
}

// belong gives a volume that two hosts show, as their pools are one folder, to its
// machine on either: by itself each host only knows its own.
func belong(seen [][]provider.Resource) {
	machines := map[string]string{} // by key: their ids
	for _, r := range slices.Concat(seen...) {
		if r.Kind == "" && strings.HasSuffix(r.ID, "/"+r.Key) {
			machines[r.Key] = r.ID
		}
	}
	for _, resources := range seen {
		for n := range resources {
			if r := &resources[n]; r.Kind != "" && machines[r.Key] != "" {
				r.BelongsTo = machines[r.Key]
			}
		}
	}
}

// ownPool is the pool of our volumes, and the one that it always was.
func (p *hosts) ownPool(ctx context.Context, h *host) (pool, error) {
	own, err := h.findPool(ctx, h.pool)
	if err == nil {
		err = p.memory.same(h, own.StoragePool)
	}
	return own, err
}

// guestID and volumeID are unique among all hosts of a block.
func (h *host) guestID(name string) string  { return h.name + "/" + name }
func (h *host) volumeID(name string) string { return h.name + "/" + h.pool + "/" + name }

func (g *guest) id() string { return g.host.guestID(g.domain.Name) }

// nvram says where the machine's firmware settings are; empty: it has none. The
// daemon names the file when the machine starts, and not in what it stores.
func (g *guest) nvram() string {
	switch {
	case g.xml.OS == nil:
		return ""
	case g.xml.OS.NVRam != nil && strings.TrimSpace(g.xml.OS.NVRam.NVRam) != "":
		return strings.TrimSpace(g.xml.OS.NVRam.NVRam)
	case g.xml.OS.Firmware == "efi":
		return "a file of the daemon's"
	}
	return ""
}

func (g *guest) resource() provider.Resource {
	state, detail := g.condition()
	if g.domain.Name != g.record.Key {
		detail = strings.TrimPrefix(detail+"; it is a copy of "+g.record.Key, "; ")
	}
	return provider.Resource{
		ID: g.id(), Key: g.record.Key, Fleet: g.record.Fleet, State: state, Created: g.record.Created, Zone: g.host.name,
		InstanceDigest: g.record.Digest, Image: g.record.Image, Tags: g.record.tags(), Detail: detail,
		Attested: g.attested(),
	}
}

// condition is the state as the manager knows it, and a word for people.
func (g *guest) condition() (provider.State, string) {
	switch {
	case g.off() && !g.terminating.IsZero():
		return provider.Stopping, "it is off and being removed"
	case g.off() && !g.started:
		return provider.Pending, "it isn't started yet"
	case g.state == api.DomainShutoff:
		return provider.Stopped, "it is off"
	case g.state == api.DomainCrashed:
		return provider.Failed, "it crashed"
	case !g.terminating.IsZero() || g.state == api.DomainShutdown:
		return provider.Stopping, "it shuts down"
	case g.state == api.DomainRunning || g.state == api.DomainBlocked:
		return provider.Running, g.xml.Type
	case g.state == api.DomainPaused:
		return provider.Unclear,
			fmt.Sprintf("it is paused (reason %d); virsh domstate --reason %s says why", g.reason, g.domain.Name)
	}
	return provider.Unclear, fmt.Sprintf("its state is %d", g.state)
}

// attested is what the definition gives the machine and an agent could only claim.
func (g *guest) attested() []string {
	if g.record.GPU {
		return []string{provider.AttestGPU}
	}
	return nil
}

// unattestable rules a gpu out where a block hands on none.
func unattestable(_ Config, i Instance) []provider.Unattestable {
	if slices.ContainsFunc(i.Devices, func(d Device) bool { return d.GPU }) {
		return nil
	}
	return []provider.Unattestable{{Attestation: provider.AttestGPU, Reason: "no device block has gpu = true"}}
}

// worst is the class of the first failure: one hidden host is enough to see too
// little.
func worst(failed []error) provider.Class {
	for _, err := range failed {
		if detailed, ok := errors.AsType[*provider.Error](err); ok {
			return detailed.Class
		}
		if err != nil {
			return classOf(err)
		}
	}
	return provider.Transient
}
