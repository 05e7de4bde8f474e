package agentserver

import (
	"fmt"
	"net"
	"testing"
)

// placed is a connection from an address.
type placed struct {
	net.Conn
	closed bool
	from   string
}

func (c *placed) RemoteAddr() net.Addr { a, _ := net.ResolveTCPAddr("tcp", c.from); return a }
func (c *placed) Close() error         { c.closed = true; return nil }

func TestTooManyAnonymousConnectionsCloseTheOldest(t *testing.T) {
	p := newAnonymousConnections()
	open := func(from string) (*anonymousConn, *anonymousConn) { return p.add(&placed{from: from}) }
	agent, _ := open("10.0.0.1:1")
	agent.stopCounting()
	first, _ := open("10.0.0.1:2")
	for n := range mostAnonymous - 1 {
		if _, gone := open(fmt.Sprintf("10.0.0.1:%d", 3+n)); gone != nil {
			t.Fatalf("the connection number %d closed another", n)
		}
	}
	if _, gone := open("10.0.0.1:60000"); gone != first {
		t.Errorf("of too many, %v has to go, want the oldest", gone)
	}
	if _, gone := open("10.0.0.2:1"); gone != nil {
		t.Error("another address pays for it")
	}
	if agent.Close() != nil || agent.at != nil {
		t.Error("the agent's connection was counted")
	}
	for _, others := range p.addresses {
		for others.Len() > 0 {
			if err := others.Front().Value.(*anonymousConn).Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(p.addresses) != 0 {
		t.Errorf("after all were closed, %d addresses are kept", len(p.addresses))
	}
}
