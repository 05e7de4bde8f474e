package libvirt

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	api "github.com/digitalocean/go-libvirt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// watchAgain is how long a lost subscription waits before it is made again.
const watchAgain = 2 * time.Second

// Watch tells of each machine that something has happened to. Nothing here is ever
// announced beforehand, so all of it is a hint to look.
func (p *hosts) Watch(ctx context.Context) iter.Seq2[provider.Notice, error] {
	return func(yield func(provider.Notice, error) bool) {
		ctx, end := context.WithCancel(ctx)
		ids := make(chan string)
		var watching sync.WaitGroup
		watching.Go(func() {
			defer close(ids)
			p.changes(ctx, func(id string) {
				select {
				case ids <- id:
				case <-ctx.Done():
				}
			})
		})
		defer watching.Wait()
		defer end()
		for id := range ids {
			at := p.now()
			notice := provider.Notice{ID: fmt.Sprintf("%s@%d", id, at.UnixNano()), Kind: provider.StateChange, Instance: id}
			if !yield(notice, nil) {
				return
			}
		}
	}
}

// changes calls heard with the id of each machine of ours that something has
// happened to, on any host, until ctx ends. It is called from one goroutine at a
// time. What happened while a host couldn't be heard is found by looking at it, once
// it is heard again; what happened before the begin isn't told.
func (p *hosts) changes(ctx context.Context, heard func(id string)) {
	var one sync.Mutex
	var watching sync.WaitGroup
	for _, h := range p.all {
		watching.Go(func() {
			w := watch{hosts: p, host: h, heard: func(name string) {
				one.Lock()
				defer one.Unlock()
				heard(h.guestID(name))
			}}
			w.run(ctx)
		})
	}
	watching.Wait()
}

// watch is that of one host.
type watch struct {
	hosts *hosts
	host  *host
	heard func(name string)
	known map[string]api.DomainState // of our machines; nil: never looked
}

func (w *watch) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.listen(ctx); err != nil {
			w.hosts.logger.Warn("the host's events can't be heard; machines are still seen by inspection", "host", w.host.name,
				"error", err)
		}
		wait := time.NewTimer(watchAgain)
		select {
		case <-wait.C:
		case <-ctx.Done():
		}
		wait.Stop()
	}
}

// listen subscribes, looks, and then follows the events until they end. What
// happens in between is in one of the two.
func (w *watch) listen(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	names, err := w.host.Lifecycle(ctx)
	if err != nil {
		end()
		return err
	}
	defer func() {
		end()
		for range names { // until it is closed
		}
	}()
	if err := w.relist(ctx); err != nil {
		return err
	}
	for name := range names {
		if err := w.look(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// relist tells what is other than it was known.
func (w *watch) relist(ctx context.Context) error {
	guests, err := w.host.guests(ctx)
	if err != nil {
		return err
	}
	before := w.known
	w.known = map[string]api.DomainState{}
	for _, g := range guests {
		if w.ours(&g) {
			w.known[g.domain.Name] = g.state
		}
	}
	if before == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(w.known)) {
		if was, there := before[name]; !there || was != w.known[name] {
			w.heard(name)
		}
		delete(before, name)
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		w.heard(name)
	}
	return nil
}

// look tells of one domain, where it is ours or was.
func (w *watch) look(ctx context.Context, name string) error {
	g, err := w.host.guest(ctx, name)
	if err != nil {
		return err
	}
	_, was := w.known[name]
	switch {
	case g != nil && w.ours(g) && g.off() && !g.started && g.terminating.IsZero() && !was:
		return nil // it is being made, which the answer to its request tells of
	case g != nil && w.ours(g):
		w.known[name] = g.state
	case was:
		delete(w.known, name)
	default:
		return nil // somebody else's
	}
	w.heard(name)
	return nil
}

func (w *watch) ours(g *guest) bool {
	return g.record != nil && g.record.Installation == w.hosts.installation
}
