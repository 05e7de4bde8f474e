package daemon

import (
	"context"
	"time"

	api "github.com/digitalocean/go-libvirt"
)

// pingEvery is how often a subscription is tried: a daemon that went away without a
// word says nothing, just as one where nothing happens.
const pingEvery = 20 * time.Second

// Lifecycle subscribes to what happens to domains, on a connection of its own, and
// gives the name of each domain that something happens to. The channel closes when
// the connection is lost or ctx ends: a subscription doesn't outlive its connection,
// also where the domains outlive the daemon, so a caller that subscribes again has to
// check what happened meanwhile.
//
// All domains are subscribed to: the library takes a domain to narrow it, and
// doesn't pass it on.
func (d *Daemon) Lifecycle(ctx context.Context) (<-chan string, error) {
	const what = "subscribe to events"
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := connect(d.target, d.limits.Connect)
	if err != nil {
		return nil, &UnreachableError{Host: d.name, What: what, Err: err}
	}
	// The library's own end of a subscription is a call that a stalled daemon never
	// answers, so the end is to cut the connection.
	var events <-chan api.DomainEventLifecycleMsg
	err, late := c.run(d.limits.Call, func(l *api.Libvirt) (err error) {
		events, err = l.LifecycleEvents(context.WithoutCancel(ctx))
		return err
	})
	if err != nil || late {
		c.cut()
		return nil, &LostError{Host: d.name, What: what, Err: err, late: late}
	}
	names := make(chan string)
	go d.follow(ctx, c, events, names)
	return names, nil
}

// follow passes names on until the connection or ctx ends, and tries the daemon
// now and then.
func (d *Daemon) follow(ctx context.Context, c *connection, events <-chan api.DomainEventLifecycleMsg,
	names chan<- string) {
	defer close(names)
	defer func() {
		c.cut()
		for range events { // the library closes it when it has noticed
		}
	}()
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ping.C:
			err, late := c.run(d.limits.Call, func(l *api.Libvirt) error {
				_, err := l.ConnectGetLibVersion()
				return err
			})
			if err != nil || late {
				return
			}
		case event, more := <-events:
			if !more {
				return
			}
			select {
			case names <- event.Dom.Name:
			case <-ctx.Done():
				return
			}
		}
	}
}
