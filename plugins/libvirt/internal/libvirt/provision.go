package libvirt

import (
	"context"
	"errors"
	"fmt"
	"sync"

	api "github.com/digitalocean/go-libvirt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/daemon"
	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/seed"
)

// Provision defines the domain, makes its volumes and starts it, in this order. A
// domain that was never started, as a crash or a lost answer leaves it, is made
// complete and started now; one that was is returned as it is.
func (p *hosts) Provision(
	ctx context.Context, request provider.ProvisionRequest[Instance],
) (made provider.Resource, err error) {
	existing, err := p.find(ctx, request.Key)
	if err != nil {
		return provider.Resource{}, err
	}
	if existing != nil {
		return p.resume(ctx, request, existing)
	}
	seedContent, err := p.suits(request)
	if err != nil {
		return provider.Resource{}, provider.NotCreated(provider.Invalid, err)
	}
	h, err := p.place(ctx, request.Key, request.Instance, request.Offers)
	if err != nil {
		return provider.Resource{}, err
	}
	defer func() { p.placed(request.Key, !provider.IsNotCreated(err)) }()
	m, err := p.prepare(ctx, h, request)
	if err != nil {
		return provider.Resource{}, provider.NotCreated(classOf(err), err) // nothing but questions was sent
	}
	if err := p.memory.remember(h); err != nil {
		return provider.Resource{}, provider.NotCreated(provider.Transient, err)
	}
	p.tries(request.Key, h)
	g, err := h.define(ctx, m)
	if err != nil {
		return p.notDefined(ctx, h, request.Key, err)
	}
	return p.finish(ctx, g, request, m, seedContent)
}

// find looks for the key on every host that can be seen. What has its name and
// isn't ours is a conflict.
func (p *hosts) find(ctx context.Context, key string) (*guest, error) {
	found := make([]*guest, len(p.all))
	failed := make([]error, len(p.all))
	var looking sync.WaitGroup
	for n, h := range p.all {
		looking.Go(func() { found[n], failed[n] = h.guest(ctx, key) })
	}
	looking.Wait()
	var one *guest
	for n, g := range found {
		switch {
		case failed[n] != nil && p.triedOn(key) == p.all[n]:
			return nil, &provider.Error{Class: classOf(failed[n]), Err: failed[n]}
		case g == nil || failed[n] != nil:
		case g.record == nil || g.record.Installation != p.installation || g.record.Key != key:
			return nil, provider.NotCreated(provider.Conflict,
				fmt.Errorf("host %s has a domain %s that isn't an instance of the installation %q", g.host.name, key,
					p.installation))
		case one != nil:
			return nil, &provider.Error{Class: provider.Conflict,
				Err: fmt.Errorf("the hosts %s and %s both have a domain %s", one.host.name, g.host.name, key)}
		default:
			one = g
		}
	}
	return one, nil
}

func (p *hosts) triedOn(key string) *host {
	p.placement.mutex.Lock()
	defer p.placement.mutex.Unlock()
	return p.placement.tried[key]
}

// suits checks the request offline and renders its seed.
func (p *hosts) suits(request provider.ProvisionRequest[Instance]) ([]byte, error) {
	platform := request.Platform
	if platform.OS != "" && platform.OS != "linux" ||
		platform.Arch != "" && platform.Arch != "x86_64" && platform.Arch != "amd64" {
		return nil, fmt.Errorf("this plugin makes machines for linux on x86_64, and the fleet's class is %s on %s",
			platform.OS, platform.Arch)
	}
	if request.Image == "" {
		return nil, errors.New(`the fleet has no image; give it one whose refs have "libvirt" = "pool:POOL/VOLUME"`)
	}
	if _, _, err := parseImage(request.Image); err != nil {
		return nil, err
	}
	return seed.Image(request.Bootstrap, request.Key, request.Name)
}

// prepare asks the host for everything that the definition needs.
func (p *hosts) prepare(ctx context.Context, h *host, request provider.ProvisionRequest[Instance]) (machine, error) {
	can, err := h.capabilities(ctx)
	if err != nil {
		return machine{}, err
	}
	kvm := can.kvm && request.Instance.Emulation != "always"
	if !kvm && request.Instance.Emulation == "never" || !kvm && !can.soft {
		return machine{},
			&provider.Error{Class: provider.Invalid,
				Err: fmt.Errorf("host %s can't run x86_64 machines by its processor: see /dev/kvm there, or allow emulation",
					h.name)}
	}
	own, err := p.ownPool(ctx, h)
	if err == nil {
		err = h.hasDisk(ctx, own)
	}
	if err == nil {
		err = h.hasNetwork(ctx, request.Instance.Network)
	}
	if err != nil {
		return machine{}, err
	}
	b, err := h.findBase(ctx, request.Image)
	if err != nil {
		return machine{}, err
	}
	gpu := false
	for _, d := range request.Instance.Devices {
		gpu = gpu || d.GPU
	}
	return machine{
		key: request.Key, title: request.Name, instance: request.Instance, kvm: kvm, base: b,
		overlay: path(own.folder, volumeName(p.installation, request.Key, overlayEnd)),
		seed:    path(own.folder, volumeName(p.installation, request.Key, seedEnd)),
		record: record{
			Installation: p.installation, Key: request.Key, Fleet: request.Fleet, Image: request.Image, GPU: gpu,
			Digest: request.InstanceDigest, Created: p.now().UTC(), Tags: sortedTags(request.Tags),
		},
	}, nil
}

// define makes the domain with its metadata, in one call.
func (h *host) define(ctx context.Context, m machine) (*guest, error) {
	text, err := m.definition()
	if err != nil {
		return nil, &provider.Error{Class: provider.Invalid, Err: err}
	}
	var domain api.Domain
	err = h.Change(ctx, "define the domain "+m.key, func(l *api.Libvirt) (err error) {
		domain, err = l.DomainDefineXMLFlags(text, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &guest{host: h, domain: domain, metadata: metadata{record: &m.record}}, nil
}

// notDefined says what a failed definition means. What exists is looked at and not
// read out of an error's code, which differs by driver.
func (p *hosts) notDefined(ctx context.Context, h *host, key string, refusal error) (provider.Resource, error) {
	if unknown(refusal) {
		return provider.Resource{}, &provider.Error{Class: classOf(refusal), Err: refusal}
	}
	there, err := h.guest(ctx, key)
	if err != nil {
		return provider.Resource{}, errors.Join(refusal, err)
	}
	p.tries(key, nil)
	if there != nil {
		return provider.Resource{},
			provider.NotCreated(provider.Conflict,
				fmt.Errorf("host %s got a domain %s from somebody else meanwhile: %w", h.name, key, refusal))
	}
	return provider.Resource{}, provider.NotCreated(classOf(refusal), refusal)
}

// resume continues where an earlier request for the key ended.
func (p *hosts) resume(
	ctx context.Context, request provider.ProvisionRequest[Instance], g *guest,
) (provider.Resource, error) {
	if g.started || !g.terminating.IsZero() || !g.off() {
		p.tries(request.Key, nil)
		resource := g.resource()
		resource.Existed = true
		return resource, nil
	}
	seedContent, err := p.suits(request)
	if err != nil {
		return provider.Resource{}, &provider.Error{Class: provider.Invalid, Err: err}
	}
	m, err := p.prepare(ctx, g.host, request)
	if err != nil {
		return provider.Resource{}, &provider.Error{Class: classOf(err), Err: err}
	}
	resource, err := p.finish(ctx, g, request, m, seedContent)
	resource.Existed = err == nil
	return resource, err
}

// finish gives a domain that was never started its volumes, and starts it. Where
// the host refuses, everything goes again, and only then nothing was created.
func (p *hosts) finish(ctx context.Context, g *guest, request provider.ProvisionRequest[Instance], m machine,
	seedContent []byte) (provider.Resource, error) {
	err := p.start(ctx, g, m, seedContent)
	if err == nil {
		p.tries(request.Key, nil)
		seen, err := g.host.guest(ctx, request.Key)
		if err != nil {
			return provider.Resource{}, err
		}
		if seen == nil {
			return provider.Resource{},
				fmt.Errorf("the domain %s on host %s was started and has disappeared", request.Key, g.host.name)
		}
		return seen.resource(), nil
	}
	if unknown(err) {
		return provider.Resource{}, &provider.Error{Class: classOf(err), Err: err}
	}
	if gone := p.remove(ctx, g); gone != nil {
		return provider.Resource{}, errors.Join(err, gone)
	}
	p.tries(request.Key, nil)
	return provider.Resource{}, provider.NotCreated(classOf(err), err)
}

// start makes the volumes again, since an earlier attempt may have left half of
// one, marks the domain and starts it. The mark comes first: a machine that may
// have run is never started a second time, as its token would be spent.
func (p *hosts) start(ctx context.Context, g *guest, m machine, seedContent []byte) error {
	size := uint64(0)
	if m.instance.Disk != "" {
		var err error
		if size, err = parseSize(m.instance.Disk); err != nil {
			return &provider.Error{Class: provider.Invalid, Err: err}
		}
	}
	own, err := p.removeVolumes(ctx, g.host, m.key)
	if err != nil {
		return err
	}
	if err := g.host.createOverlay(ctx, own, volumeName(p.installation, m.key, overlayEnd), m.base, size); err != nil {
		return err
	}
	if err := g.host.createSeed(ctx, own, volumeName(p.installation, m.key, seedEnd), seedContent); err != nil {
		return err
	}
	if err := g.mark(ctx, "started", startedSpace, p.now()); err != nil {
		return err
	}
	return g.host.Change(ctx, "start the domain "+m.key, func(l *api.Libvirt) error { return l.DomainCreate(g.domain) })
}

// unknown says whether the error leaves open what happened.
func unknown(err error) bool {
	_, lost := errors.AsType[*daemon.LostError](err)
	_, unreachable := errors.AsType[*daemon.UnreachableError](err)
	return lost || unreachable
}

// classOf prefers a class that was given here over the daemon's.
func classOf(err error) provider.Class {
	if detailed, ok := errors.AsType[*provider.Error](err); ok && detailed.Class != 0 {
		return detailed.Class
	}
	return daemon.ClassOf(err)
}
