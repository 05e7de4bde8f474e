package enroll

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// pending bounds the connections of each address on which nobody has shown a
// runner's certificate yet. Of too many the oldest is closed, not the newest: an
// agent shows its certificate with its first call, so one that connects is heard
// whoever else sits on connections behind the same address.
type pending struct {
	mu        sync.Mutex
	addresses map[netip.Prefix]*list.List // of *pendingConn, the oldest first
}

// mostPending is far more than hosts that boot together need at once.
const mostPending = 256

func newPending() *pending { return &pending{addresses: map[netip.Prefix]*list.List{}} }

// pendingConn is a connection that counts until it is proven or closed.
type pendingConn struct {
	net.Conn
	all  *pending
	from netip.Prefix
	at   *list.Element
}

// Close ends the connection and its counting.
func (c *pendingConn) Close() error {
	c.proven()
	return c.Conn.Close()
}

// proven ends the counting of a connection, on which a runner called.
func (c *pendingConn) proven() {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.all.drop(c)
}

// drop takes a connection off its list. The lock is held.
func (p *pending) drop(c *pendingConn) {
	if c.at == nil {
		return
	}
	others := p.addresses[c.from]
	others.Remove(c.at)
	c.at = nil
	if others.Len() == 0 {
		delete(p.addresses, c.from)
	}
}

// add counts a connection and returns the one that must go for it; nil: none.
func (p *pending) add(connection net.Conn) (c, oldest *pendingConn) {
	host, _, err := net.SplitHostPort(connection.RemoteAddr().String())
	if err != nil {
		host = ""
	}
	c = &pendingConn{Conn: connection, all: p, from: neighbourhood(host)}
	p.mu.Lock()
	defer p.mu.Unlock()
	others := p.addresses[c.from]
	if others == nil {
		others = list.New()
		p.addresses[c.from] = others
	}
	c.at = others.PushBack(c)
	if others.Len() > mostPending {
		oldest = others.Front().Value.(*pendingConn)
		p.drop(oldest)
	}
	return c, oldest
}

// pendingListener counts what it accepts.
type pendingListener struct {
	net.Listener
	all *pending
}

// Accept is the listener's. A connection that has to go is closed on the way.
func (l *pendingListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	counted, oldest := l.all.add(connection)
	if oldest != nil {
		_ = oldest.Conn.Close() // it is a stranger's, and whether it was open is no matter
	}
	return counted, nil
}

type connectionKey struct{}

// ConnContext is what an http.Server that hands its calls to ServeHTTP makes of a
// connection: handlers find it again, and what its certificate was found to prove.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if over, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = over.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, &connection{Conn: c})
}

// connectionOf is the connection of a call; nil: it came without one.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}

// proven ends the counting of the connection of a runner's call.
func proven(r *http.Request) {
	if c := connectionOf(r); c != nil {
		if counted, ok := c.Conn.(*pendingConn); ok {
			counted.proven()
		}
	}
}
