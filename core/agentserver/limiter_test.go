package agentserver

import (
	"fmt"
	"testing"
	"time"
)

// fail makes a call that fails, and says whether it was admitted.
func fail(l *anonymousLimiter, address string, now time.Time) bool {
	end := l.begin(address, now)
	if end == nil {
		return false
	}
	end(true, now)
	return true
}

func TestOnlyFailedAnonymousCallsAreLimited(t *testing.T) {
	l, now := newAnonymousLimiter(), time.Unix(1000, 0)
	for n := range 10 * failureBurst {
		end := l.begin("10.0.0.1", now)
		if end == nil {
			t.Fatalf("host %d behind one address isn't admitted", n)
		}
		end(false, now)
	}
	admitted := 0
	for range 10 * failureBurst {
		if fail(l, "10.0.0.1", now) {
			admitted++
		}
	}
	if admitted != failureBurst {
		t.Errorf("%d failing calls were admitted at once, want %d", admitted, failureBurst)
	}
	if !fail(l, "10.0.0.2", now) {
		t.Error("another address is refused, too")
	}
	if fail(l, "::ffff:10.0.0.1", now) {
		t.Error("the same address in its IPv6 form is admitted")
	}
	if fail(l, "10.0.0.1", now.Add(-time.Hour)) {
		t.Error("a clock that was set back admits it")
	}
	if now = now.Add(time.Minute); !fail(l, "10.0.0.1", now) {
		t.Error("after a minute it is still refused")
	}
}

func TestCallsUnderWayCountUntilTheySucceed(t *testing.T) {
	l, now := newAnonymousLimiter(), time.Unix(1000, 0)
	var ends []func(bool, time.Time)
	for end := l.begin("10.0.0.1", now); end != nil; end = l.begin("10.0.0.1", now) {
		ends = append(ends, end)
	}
	if len(ends) != failureBurst {
		t.Errorf("%d calls were admitted at once, want %d", len(ends), failureBurst)
	}
	ends[0](false, now)
	if !fail(l, "10.0.0.1", now) {
		t.Error("after one succeeded another isn't admitted")
	}
	ends[1](true, now)
	if fail(l, "10.0.0.1", now) {
		t.Error("after one failed another is admitted")
	}
}

func TestIPv6AddressesOfOneSiteShareALimit(t *testing.T) {
	l, now := newAnonymousLimiter(), time.Unix(1000, 0)
	admitted := 0
	for n := range 10 * failureBurst {
		if fail(l, fmt.Sprintf("2001:db8::%x", n), now) {
			admitted++
		}
	}
	if admitted != failureBurst || !fail(l, "2001:db8:0:1::1", now) {
		t.Errorf("%d calls of one network were admitted, want %d, and its neighbour must be, too", admitted, failureBurst)
	}
}

func TestTheNumberOfRememberedAddressesIsBounded(t *testing.T) {
	l, now := newAnonymousLimiter(), time.Unix(1000, 0)
	for n := range 3 * mostAddresses {
		fail(l, fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255), now)
	}
	if len(l.addresses) > mostAddresses {
		t.Errorf("there are %d addresses", len(l.addresses))
	}
	now = now.Add(time.Hour) // they are full again, and forgotten for others
	if !fail(l, "192.0.2.1", now) || len(l.addresses) > mostAddresses/2 {
		t.Errorf("an hour later there are %d addresses", len(l.addresses))
	}
}
