package daemon

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	api "github.com/digitalocean/go-libvirt"
)

var (
	errClosed = errors.New("the connection was closed")
	errHangs  = errors.New("the daemon took the connection and doesn't answer")
)

// connection is one connection, for as long as it lives.
type connection struct {
	*api.Libvirt
	wire *wire
}

// wire is the connection under the library's, to know its end and to end it.
type wire struct {
	net.Conn
	once sync.Once
	dead chan struct{}
}

func newWire(under net.Conn) *wire { return &wire{Conn: under, dead: make(chan struct{})} }

// Read marks the end: nothing comes after an error.
func (w *wire) Read(buffer []byte) (int, error) {
	n, err := w.Conn.Read(buffer)
	if err != nil {
		w.once.Do(func() { close(w.dead) })
	}
	return n, err
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.dead) })
	return w.Conn.Close()
}

// handed is a dialler of what was dialled.
type handed struct{ net.Conn }

func (h handed) Dial() (net.Conn, error) { return h.Conn, nil }

// connect dials and greets within the limit.
func connect(target Target, limit time.Duration) (*connection, error) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	type dialled struct {
		conn net.Conn
		err  error
	}
	dialling := make(chan dialled, 1)
	go func() {
		conn, err := target.dial()
		dialling <- dialled{conn, err}
	}()
	var under net.Conn
	select {
	case d := <-dialling:
		if d.err != nil {
			return nil, d.err
		}
		under = d.conn
	case <-deadline.C:
		go func() { // who dials for longer finds that nobody waits
			if d := <-dialling; d.err == nil {
				_ = d.conn.Close()
			}
		}()
		return nil, fmt.Errorf("%s: no connection within %s", target, limit)
	}
	c := &connection{wire: newWire(under)}
	c.Libvirt = api.NewWithDialer(handed{c.wire})
	err, late := within(deadline, func() error { return c.ConnectToURI(target.driver) }, c.cut)
	if late {
		err = errHangs
	}
	if err != nil {
		c.cut()
		return nil, fmt.Errorf("%s: %w", target, err)
	}
	return c, nil
}

// run makes one call. Late says that the limit passed first: then the connection
// is cut, and with it every call on it ends.
func (c *connection) run(limit time.Duration, call Call) (err error, late bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	return within(timer, func() error { return call(c.Libvirt) }, c.cut)
}

// abandonAfter is how long a call may take to notice that its connection is cut.
// Longer it isn't waited for.
const abandonAfter = 2 * time.Second

// within waits for work until the limit, then cuts and waits a little more.
func within(limit *time.Timer, work func() error, cut func()) (err error, late bool) {
	done := make(chan error, 1)
	go func() {
		// What the library can't make sense of must not end the plugin.
		defer func() {
			if thrown := recover(); thrown != nil {
				done <- fmt.Errorf("the answer can't be read: %v", thrown)
			}
		}()
		done <- work()
	}()
	select {
	case err := <-done:
		return err, false
	case <-limit.C:
	}
	cut()
	abandon := time.NewTimer(abandonAfter)
	defer abandon.Stop()
	select {
	case err := <-done:
		if err == nil || isAnswer(err) {
			return err, false // it came in the very last moment
		}
		return err, true
	case <-abandon.C:
		return errClosed, true
	}
}

// cut ends the connection at once, without a word to a daemon that may not listen.
func (c *connection) cut() { _ = c.wire.Close() }

func (c *connection) isDead() bool {
	select {
	case <-c.wire.dead:
		return true
	default:
		return false
	}
}
