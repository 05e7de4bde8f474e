package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	api "github.com/digitalocean/go-libvirt"
)

// Limits bound what a daemon may take.
type Limits struct {
	// Connect bounds dialling and the greeting, Call each call.
	Connect, Call time.Duration
	// Settle is how long a daemon gets, once it is there again, to finish what
	// lost its answer before: it may have read the request and not yet begun.
	Settle time.Duration
}

// Daemon is one libvirt daemon. It may be used from many goroutines.
type Daemon struct {
	name   string
	target Target
	limits Limits

	turn chan struct{} // held by who connects

	mutex     sync.Mutex
	current   *connection // nil: none
	changing  int         // changes that wait for their answers
	unsettled bool        // a change lost its answer, and no call has waited since
}

// New doesn't connect. The name is for messages.
func New(name string, target Target, limits Limits) *Daemon {
	return &Daemon{name: name, target: target, limits: limits, turn: make(chan struct{}, 1)}
}

// Call is what is done with a connection. It must end with the connection.
type Call func(*api.Libvirt) error

// Look makes a call that changes nothing. What is says what is looked at, for
// messages. Where the connection turns out to be lost it is tried once more.
func (d *Daemon) Look(ctx context.Context, what string, call Call) error {
	_, err := d.call(ctx, what, call, false)
	if lost, ok := errors.AsType[*LostError](err); ok && !lost.late {
		_, err = d.call(ctx, what, call, false)
	}
	return err
}

// Change makes a call that changes something, once. A *LostError says that it may
// have happened or may still happen; any other error, that it hasn't.
func (d *Daemon) Change(ctx context.Context, what string, call Call) error {
	sent, err := d.call(ctx, what, call, true)
	if err != nil && !sent {
		_, err = d.call(ctx, what, call, true)
	}
	return err
}

// call says whether the request may have left.
func (d *Daemon) call(ctx context.Context, what string, call Call, changes bool) (sent bool, err error) {
	c, err := d.connected(ctx)
	if err != nil {
		return true, &UnreachableError{Host: d.name, What: what, Err: err} // a second try would be no better
	}
	if changes {
		d.changeBegins()
		defer func() { d.changeEnds(err) }()
	}
	err, late := c.run(d.limits.Call, call)
	switch {
	case err == nil:
		return true, nil
	case late:
		return true, &LostError{Host: d.name, What: what, Err: fmt.Errorf("no answer within %s", d.limits.Call), late: true}
	case errors.Is(err, syscall.EINVAL):
		// What the library says where the connection was found closed before it wrote.
		d.forget(c)
		return false, &LostError{Host: d.name, What: what, Err: errClosed}
	case isAnswer(err):
		return true, fmt.Errorf("%s on host %s: %w", what, d.name, err)
	}
	c.cut()
	d.forget(c)
	return true, &LostError{Host: d.name, What: what, Err: err}
}

func (d *Daemon) changeBegins() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.changing++
}

func (d *Daemon) changeEnds(err error) {
	_, lost := errors.AsType[*LostError](err)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.changing--
	d.unsettled = d.unsettled || lost
}

// isAnswer tells what the daemon said from what became of the connection.
func isAnswer(err error) bool {
	_, answered := errors.AsType[api.Error](err)
	return answered || errors.Is(err, api.ErrUnsupported)
}

// connected is the living connection, or a new one.
func (d *Daemon) connected(ctx context.Context) (*connection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c := d.living(); c != nil {
		return c, nil
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c := d.living(); c != nil {
		return c, nil // who had the turn before made it
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := connect(d.target, d.limits.Connect)
	if err != nil {
		return nil, err
	}
	if err := d.settle(ctx); err != nil {
		c.cut()
		return nil, err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.current = c
	return c, nil
}

// settle waits where a change has lost its answer, or is about to: a connection ends
// for everybody before it ends for the one that it fails.
func (d *Daemon) settle(ctx context.Context) error {
	d.mutex.Lock()
	unsettled := d.unsettled || d.changing > 0
	d.mutex.Unlock()
	if !unsettled {
		return nil
	}
	wait := time.NewTimer(d.limits.Settle)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.unsettled = false
	return nil
}

func (d *Daemon) living() *connection {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.current == nil || d.current.isDead() {
		return nil
	}
	return d.current
}

func (d *Daemon) forget(c *connection) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.current == c {
		d.current = nil
	}
}

// Close ends the connection; a later call makes a new one.
func (d *Daemon) Close() {
	d.mutex.Lock()
	c := d.current
	d.current = nil
	d.mutex.Unlock()
	if c != nil {
		c.cut()
	}
}

// Target is the URI that the daemon is found at.
func (d *Daemon) Target() string { return d.target.text }
