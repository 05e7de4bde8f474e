package daemon

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	api "github.com/digitalocean/go-libvirt"
)

var (
	errClosed = errors.New("the connection was closed")
	errHangs  = errors.New("the daemon accepted the connection and doesn't answer")
)

// connection is one connection, for as long as it lives.
type connection struct {
	*api.Libvirt
	wire *wire
}

// wire is the connection under the library's, to know its end and to end it, and to
// end it also where what comes isn't libvirt's protocol: the library would accept
// any length of a packet, and panic in a goroutine of its own.
type wire struct {
	net.Conn
	once   sync.Once
	dead   chan struct{}
	length [4]byte // of the packet that is being read
	seen   uint32  // how much of that packet has passed

	foreign atomic.Bool // it isn't libvirt's protocol
}

// The lengths that a packet may have, its own four bytes and its header among them.
const (
	leastPacket = 28
	mostPacket  = 34 << 20
)

var errForeign = errors.New("what listens there doesn't speak libvirt's protocol")

func newWire(under net.Conn) *wire { return &wire{Conn: under, dead: make(chan struct{})} }

// Read marks the end: nothing comes after an error.
func (w *wire) Read(buffer []byte) (int, error) {
	n, err := w.Conn.Read(buffer)
	if err == nil && !w.follow(buffer[:n]) {
		w.foreign.Store(true)
		_ = w.Conn.Close()
		n, err = 0, errForeign
	}
	if err != nil {
		w.once.Do(func() { close(w.dead) })
	}
	return n, err
}

// follow keeps count of the packets that pass, and is false at one of a length that
// none has.
func (w *wire) follow(passing []byte) bool {
	for len(passing) > 0 {
		if w.seen < 4 {
			w.length[w.seen] = passing[0]
			w.seen, passing = w.seen+1, passing[1:]
			continue
		}
		length := binary.BigEndian.Uint32(w.length[:])
		if length < leastPacket || length > mostPacket {
			return false
		}
		passed := min(uint32(len(passing)), length-w.seen)
		w.seen, passing = (w.seen+passed)%length, passing[passed:]
	}
	return true
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
	ctx, end := context.WithTimeout(context.Background(), limit)
	defer end()
	under, err := target.dial(ctx)
	if err != nil && (ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded)) {
		return nil, fmt.Errorf("no connection within %s: %w", limit, err)
	}
	if err != nil {
		return nil, err
	}
	c := &connection{wire: newWire(under)}
	c.Libvirt = api.NewWithDialer(handed{c.wire})
	err, late := within(deadline, func() error { return c.ConnectToURI(target.driver) }, c.cut)
	switch {
	case late:
		err = errHangs
	case err != nil && c.wire.foreign.Load():
		err = errForeign
	}
	if err != nil {
		c.cut()
		return nil, err
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
