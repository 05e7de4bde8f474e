package agentserver

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// anonymousConnections bounds the connections of each address on which no runner has
// called yet. Of too many the oldest is closed, not the newest: an agent shows its
// certificate with its first call, so one that connects is answered even if somebody
// else behind the same address holds many connections open.
type anonymousConnections struct {
	mu        sync.Mutex
	addresses map[netip.Prefix]*list.List // of *anonymousConn, the oldest first
}

// mostAnonymous is far more than hosts that boot together need at once.
const mostAnonymous = 256

func newAnonymousConnections() *anonymousConnections {
	return &anonymousConnections{addresses: map[netip.Prefix]*list.List{}}
}

// anonymousConn is a connection that counts until a runner calls on it or it is closed.
type anonymousConn struct {
	net.Conn
	all  *anonymousConnections
	from netip.Prefix
	at   *list.Element
}

// Close ends the connection and its counting.
func (c *anonymousConn) Close() error {
	c.stopCounting()
	return c.Conn.Close()
}

// stopCounting ends the counting of a connection on which a runner called.
func (c *anonymousConn) stopCounting() {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.all.drop(c)
}

// drop removes a connection from its list. The lock is held.
func (p *anonymousConnections) drop(c *anonymousConn) {
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

// add counts a connection and returns the one that must be closed for it; nil: none.
func (p *anonymousConnections) add(connection net.Conn) (c, oldest *anonymousConn) {
	host, _, err := net.SplitHostPort(connection.RemoteAddr().String())
	if err != nil {
		host = ""
	}
	c = &anonymousConn{Conn: connection, all: p, from: addressPrefix(host)}
	p.mu.Lock()
	defer p.mu.Unlock()
	others := p.addresses[c.from]
	if others == nil {
		others = list.New()
		p.addresses[c.from] = others
	}
	c.at = others.PushBack(c)
	if others.Len() > mostAnonymous {
		oldest = others.Front().Value.(*anonymousConn)
		p.drop(oldest)
	}
	return c, oldest
}

// countingListener counts what it accepts.
type countingListener struct {
	net.Listener
	all *anonymousConnections
}

// Accept is the listener's. A connection that must make room is closed.
func (l *countingListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	counted, oldest := l.all.add(connection)
	if oldest != nil {
		_ = oldest.Conn.Close() // it belongs to no runner, and may be closed already
	}
	return counted, nil
}

type connectionKey struct{}

// ConnContext is the http.Server.ConnContext of a server that calls ServeHTTP: it lets
// handlers find the connection, and whom its certificate identifies.
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

// markAuthenticated ends the counting of the connection of a runner's call.
func markAuthenticated(r *http.Request) {
	if c := connectionOf(r); c != nil {
		if counted, ok := c.Conn.(*anonymousConn); ok {
			counted.stopCounting()
		}
	}
}
