package enroll

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// strangers bounds the calls that nobody vouches for, by where they come from:
// whoever tries tokens, or floods the port, is answered ever less. Agents with a
// certificate of this installation are never counted, however many share an
// address, and a call that succeeds, as an enrollment or a download does, is given
// back. So a whole hall of hosts may come up behind one address; only while
// somebody there calls in vain all the time do new hosts wait with them.
type strangers struct {
	mu      sync.Mutex
	buckets map[netip.Prefix]*bucket
	// rest is shared by all addresses that there is no bucket for.
	rest bucket
}

// bucket holds the calls that an address may still make in vain.
type bucket struct {
	left float64
	seen time.Time
}

const (
	strangerBurst  = 100 // calls in vain at once
	strangerRate   = 2   // and further ones a second
	mostAddresses  = 4096
	strangersRetry = "30"
)

func newStrangers() *strangers { return &strangers{buckets: map[netip.Prefix]*bucket{}} }

// admit takes a call off what the address may make; false: nothing is left.
func (s *strangers) admit(address string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bucket(neighbourhood(address), now)
	b.fill(now)
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// giveBack returns a call that wasn't in vain.
func (s *strangers) giveBack(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.buckets[neighbourhood(address)]; b != nil {
		b.left = min(b.left+1, strangerBurst)
	}
}

// bucket is the one of an address. Those that are full again are forgotten when
// there are too many; where that doesn't help, newcomers share one.
func (s *strangers) bucket(p netip.Prefix, now time.Time) *bucket {
	if b := s.buckets[p]; b != nil {
		return b
	}
	if len(s.buckets) >= mostAddresses {
		for other, b := range s.buckets {
			if b.fill(now); b.left >= strangerBurst {
				delete(s.buckets, other)
			}
		}
	}
	if len(s.buckets) >= mostAddresses {
		return &s.rest
	}
	b := &bucket{left: strangerBurst, seen: now}
	s.buckets[p] = b
	return b
}

// fill adds what time has added. A clock that was set back adds nothing.
func (b *bucket) fill(now time.Time) {
	if passed := now.Sub(b.seen); passed > 0 {
		b.left = min(b.left+passed.Seconds()*strangerRate, strangerBurst)
	}
	b.seen = now
}

// neighbourhood is what counts as one address: of IPv6 the network of a site,
// since a single host has as many addresses there as it likes.
func neighbourhood(address string) netip.Prefix {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}
	}
	a = a.Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // the length fits
	return p
}

// isRunner says whether the caller shows a certificate of a runner of ours.
// Handlers judge whether it is still good.
func (s *Server) isRunner(r *http.Request) bool {
	_, err := s.certified(r)
	return err == nil
}

func tooMany() *refusal {
	return &refusal{status: http.StatusTooManyRequests, code: agentapi.CodeTooMany,
		detail: "too many calls without a certificate came from this address in vain; try again later"}
}
