package enroll

import (
	"fmt"
	"net"
	"testing"
	"time"
)

func TestCallsInVainAreBoundedByAddressAndCallsThatSucceedAreNot(t *testing.T) {
	s, now := newStrangers(), time.Unix(1000, 0)
	for n := range 10 * strangerBurst {
		if !s.admit("10.0.0.1", now) {
			t.Fatalf("the host number %d behind one address isn't let in", n)
		}
		s.giveBack("10.0.0.1")
	}
	let := 0
	for range 10 * strangerBurst {
		if s.admit("10.0.0.1", now) {
			let++
		}
	}
	if let != strangerBurst {
		t.Errorf("%d calls in vain were let through at once, want %d", let, strangerBurst)
	}
	if !s.admit("10.0.0.2", now) {
		t.Error("another address pays for it")
	}
	if s.admit("::ffff:10.0.0.1", now) {
		t.Error("the same address in its IPv6 form is let through")
	}
	if s.admit("10.0.0.1", now.Add(-time.Hour)) {
		t.Error("a clock that was set back lets it through")
	}
	if now = now.Add(time.Minute); !s.admit("10.0.0.1", now) {
		t.Error("after a minute it is still refused")
	}
}

func TestOneSiteOfIPv6IsOneAddress(t *testing.T) {
	s, now := newStrangers(), time.Unix(1000, 0)
	let := 0
	for n := range 10 * strangerBurst {
		if s.admit(fmt.Sprintf("2001:db8::%x", n), now) {
			let++
		}
	}
	if let != strangerBurst || !s.admit("2001:db8:0:1::1", now) {
		t.Errorf("%d calls of one network were let through, want %d, and its neighbour isn't to pay", let, strangerBurst)
	}
}

func TestTheMemoryForAddressesIsBounded(t *testing.T) {
	s, now := newStrangers(), time.Unix(1000, 0)
	for n := range 3 * mostAddresses {
		s.admit(fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255), now)
	}
	if len(s.buckets) > mostAddresses {
		t.Errorf("there are %d buckets", len(s.buckets))
	}
	now = now.Add(time.Hour) // they are full again, and forgotten for others
	if !s.admit("192.0.2.1", now) || len(s.buckets) > mostAddresses/2 {
		t.Errorf("an hour later there are %d buckets", len(s.buckets))
	}
}

// placed is a connection from an address.
type placed struct {
	net.Conn
	closed bool
	from   string
}

func (c *placed) RemoteAddr() net.Addr { a, _ := net.ResolveTCPAddr("tcp", c.from); return a }
func (c *placed) Close() error         { c.closed = true; return nil }

func TestOfTooManyUnprovenConnectionsTheOldestGoesAndProvenOnesStay(t *testing.T) {
	p := newPending()
	open := func(from string) (*pendingConn, *pendingConn) { return p.add(&placed{from: from}) }
	agent, _ := open("10.0.0.1:1")
	agent.proven()
	first, _ := open("10.0.0.1:2")
	for n := range mostPending - 1 {
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
			if err := others.Front().Value.(*pendingConn).Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(p.addresses) != 0 {
		t.Errorf("after all were closed, %d addresses are kept", len(p.addresses))
	}
}
