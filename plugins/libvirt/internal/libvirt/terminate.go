package libvirt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	api "github.com/digitalocean/go-libvirt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/daemon"
)

// Terminate ends one machine and removes everything that it has, its domain last;
// or it removes one volume that has no machine any more.
func (p *hosts) Terminate(ctx context.Context, ref provider.Ref) (provider.TerminateState, error) {
	if ref.ID == "" {
		return p.terminateByKey(ctx, ref)
	}
	name, rest, _ := strings.Cut(ref.ID, "/")
	h := p.named(name)
	if h == nil {
		return provider.TerminateUnknown,
			&provider.Error{Class: provider.Invalid,
				Err: fmt.Errorf("%s is on a host that isn't in the provider block; put it back until its machines are gone",
					ref.ID)}
	}
	if _, err := p.ownPool(ctx, h); err != nil {
		return provider.TerminateUnknown, err
	}
	if _, part, secondary := strings.Cut(rest, "/"); secondary {
		return p.terminatePart(ctx, h, ref, rest, part)
	}
	g, err := h.guest(ctx, rest)
	if err != nil {
		return provider.TerminateUnknown, err
	}
	if g == nil {
		return p.terminateDangling(ctx, h, cmp.Or(ref.Key, rest))
	}
	return p.terminateGuest(ctx, g, ref)
}

// terminateByKey is for what the manager never saw. Every host must be asked.
func (p *hosts) terminateByKey(ctx context.Context, ref provider.Ref) (provider.TerminateState, error) {
	for _, h := range p.all {
		if _, err := p.ownPool(ctx, h); err != nil {
			return provider.TerminateUnknown, err
		}
		g, err := h.guest(ctx, ref.Key)
		if err != nil {
			return provider.TerminateUnknown, err
		}
		if g == nil {
			continue
		}
		if state, err := p.terminateGuest(ctx, g, ref); err != nil || state != provider.Gone {
			return state, err
		}
	}
	for _, h := range p.all {
		if state, err := p.terminateDangling(ctx, h, ref.Key); err != nil || state != provider.Gone {
			return state, err
		}
	}
	return provider.Gone, nil
}

func (p *hosts) named(name string) *host {
	for _, h := range p.all {
		if h.name == name {
			return h
		}
	}
	return nil
}

func (p *hosts) terminateGuest(ctx context.Context, g *guest, ref provider.Ref) (provider.TerminateState, error) {
	switch {
	case g.record == nil || g.record.Installation != p.installation:
		return refused("the domain %s isn't an instance of the installation %q", g.id(), p.installation)
	case ref.Key != "" && g.record.Key != ref.Key:
		return refused("the domain %s is the instance of the key %q, not of %q", g.id(), g.record.Key, ref.Key)
	case g.domain.Name != g.record.Key:
		return refused("the domain %s is a copy of %s: what it has isn't known, so a person has to remove it", g.id(),
			g.record.Key)
	}
	if g.terminating.IsZero() {
		g.terminating = p.now()
		// Where it can't be written, as of a domain that a person undefined while it
		// runs, termination continues without it.
		if err := g.mark(ctx, "terminating", terminatingSpace, g.terminating); unknown(err) {
			return provider.TerminateUnknown, err
		}
	}
	if err := p.stop(ctx, g, ref.Force); err != nil {
		return provider.TerminateUnknown, err
	}
	if err := p.remove(ctx, g); err != nil {
		return provider.TerminateUnknown, err
	}
	p.tries(g.record.Key, nil)
	return provider.Gone, nil
}

// terminateDangling removes what is named after a key that has no domain, on no host
// and under no name: hosts may share a folder, and a person may have renamed it.
func (p *hosts) terminateDangling(ctx context.Context, h *host, key string) (provider.TerminateState, error) {
	holder, err := p.holder(ctx, key)
	if err != nil {
		return provider.TerminateUnknown, err
	}
	if holder != nil {
		return refused(
			"the volumes of the key %s are still those of the domain %s; where that is a copy or was renamed, a person has "+
				"to remove it", key, holder.id())
	}
	if _, err := p.removeVolumes(ctx, h, key); err != nil {
		return provider.TerminateUnknown, err
	}
	return provider.Gone, nil
}

// terminatePart removes a volume by itself. While its machine is there it stays.
func (p *hosts) terminatePart(ctx context.Context, h *host, ref provider.Ref, rest, name string) (
	provider.TerminateState, error) {
	key, _, ours := partOf(p.installation, name)
	if strings.HasPrefix(rest, "nvram/") && !ours {
		key = name // the daemon removes it with the domain
	} else if !ours || rest != h.pool+"/"+name {
		return refused("%s isn't a volume of the installation %q in the pool %s", ref.ID, p.installation, h.pool)
	}
	if ref.Key != "" && ref.Key != key {
		return refused("%s belongs to the key %q, not to %q", ref.ID, key, ref.Key)
	}
	return p.terminateDangling(ctx, h, key)
}

// holder is a domain with the key, on any host and under any name; nil: there is none.
func (p *hosts) holder(ctx context.Context, key string) (*guest, error) {
	for _, h := range p.all {
		guests, err := h.guests(ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range guests {
			if g.record != nil && g.record.Installation == p.installation && g.record.Key == key {
				return &g, nil
			}
		}
	}
	return nil, nil
}

func refused(format string, arguments ...any) (provider.TerminateState, error) {
	return provider.Refused, &provider.Error{Class: provider.Conflict, Err: fmt.Errorf(format, arguments...)}
}

// The pace of a shutdown.
const (
	lookEvery = 250 * time.Millisecond
	askEvery  = 5 * time.Second
)

// stop has the guest shut itself down, by the power button, and powers it off when
// its time is over. The button is pressed again and again: a guest that doesn't
// listen yet never hears of a press before. The time counts from the mark, so it
// continues where an earlier plugin stopped.
func (p *hosts) stop(ctx context.Context, g *guest, force bool) error {
	over := g.terminating.Add(p.shutdown)
	var asked time.Time
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		now, err := g.host.guest(ctx, g.domain.Name)
		if err != nil {
			return err
		}
		if now == nil || now.off() {
			return nil
		}
		switch at := p.now(); {
		case force || !at.Before(over):
			// Whether it worked shows the next look: drivers have different words for
			// a domain that went off by itself in between.
			if err := p.powerOff(ctx, g); err != nil {
				return err
			}
		case at.Sub(asked) >= askEvery:
			asked = at
			p.pressButton(ctx, g)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pressButton minds no answer: a guest may refuse, be off or hang, and it is asked
// again.
func (p *hosts) pressButton(ctx context.Context, g *guest) {
	what := "shut down the domain " + g.domain.Name
	err := g.host.ending.Change(ctx, what, func(l *api.Libvirt) error {
		return l.DomainShutdownFlags(g.domain, api.DomainShutdownAcpiPowerBtn)
	})
	if daemon.Said(err) == api.ErrInvalidArg || daemon.Said(err) == api.ErrNoSupport {
		err = g.host.ending.Change(ctx, what, func(l *api.Libvirt) error { return l.DomainShutdown(g.domain) })
	}
	if err != nil {
		p.logger.Debug("the power button did nothing", "host", g.host.name, "error", err)
	}
}

func (p *hosts) powerOff(ctx context.Context, g *guest) error {
	err := g.host.ending.Change(ctx, "power off the domain "+g.domain.Name, func(l *api.Libvirt) error {
		return l.DomainDestroyFlags(g.domain, 0)
	})
	if err == nil || unknown(err) {
		return err
	}
	now, looked := g.host.guest(ctx, g.domain.Name)
	if looked != nil {
		return errors.Join(err, looked)
	}
	if now == nil || now.off() {
		return nil
	}
	return err
}

// undefining takes with the domain what the daemon keeps of it.
const undefining = api.DomainUndefineNvram | api.DomainUndefineManagedSave | api.DomainUndefineSnapshotsMetadata |
	api.DomainUndefineCheckpointsMetadata

// remove takes away what a machine that is off has, its domain last: as long as
// anything is left, so is the proof whose it is.
func (p *hosts) remove(ctx context.Context, g *guest) error {
	if _, err := p.removeVolumes(ctx, g.host, g.record.Key); err != nil {
		return err
	}
	err := g.host.Change(ctx, "undefine the domain "+g.domain.Name, func(l *api.Libvirt) error {
		return l.DomainUndefineFlags(g.domain, undefining)
	})
	if daemon.Said(err) == api.ErrInvalidArg {
		// A driver or a daemon that doesn't know one of the flags. Without them it
		// refuses a domain that has something to be taken along.
		err = g.host.Change(ctx, "undefine the domain "+g.domain.Name, func(l *api.Libvirt) error {
			return l.DomainUndefine(g.domain)
		})
	}
	if daemon.IsNotFound(err) {
		return nil
	}
	return err
}

// removeVolumes removes the volumes of a key, and gives the pool.
func (p *hosts) removeVolumes(ctx context.Context, h *host, key string) (pool, error) {
	own, err := p.ownPool(ctx, h)
	for _, end := range ends {
		if err != nil {
			break
		}
		err = h.deleteVolume(ctx, own, volumeName(p.installation, key, end))
	}
	return own, err
}
