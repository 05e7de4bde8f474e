package agentserver

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// anonymousLimiter bounds the calls without a client certificate of this installation
// that fail, by the address they come from: a caller that guesses tokens, or floods the
// port, is answered less and less often. Calls with a certificate are never counted,
// however many share an address, and a call that succeeds, as an enrollment or a
// download does, costs nothing. So a whole data centre may boot behind one address; new
// hosts are refused only while somebody behind it fails all the time.
type anonymousLimiter struct {
	mu        sync.Mutex
	addresses map[netip.Prefix]*addressLimit
	// shared is for all addresses beyond mostAddresses.
	shared *addressLimit
}

// addressLimit is what one address may still do. A call under way holds a token of the
// bucket, which a failure spends.
type addressLimit struct {
	failures *rate.Limiter
	running  int
}

const (
	failureBurst  = 100 // failed calls at once
	failureRate   = 2   // and further ones a second
	mostAddresses = 4096
	// retryAfterTooMany is the Retry-After of a refused address, in seconds.
	retryAfterTooMany = "30"
)

func newAnonymousLimiter() *anonymousLimiter {
	return &anonymousLimiter{addresses: map[netip.Prefix]*addressLimit{}, shared: newAddressLimit()}
}

func newAddressLimit() *addressLimit {
	return &addressLimit{failures: rate.NewLimiter(failureRate, failureBurst)}
}

// begin admits a call; nil: the address has failed too often. A caller that was admitted
// calls end once.
func (l *anonymousLimiter) begin(address string, now time.Time) (end func(failed bool, now time.Time)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := l.limitOf(addressPrefix(address), now)
	if limit.failures.TokensAt(now)-float64(limit.running) < 1 {
		return nil
	}
	limit.running++
	return func(failed bool, now time.Time) {
		l.mu.Lock()
		defer l.mu.Unlock()
		limit.running--
		if failed {
			limit.failures.AllowN(now, 1)
		}
	}
}

// limitOf is the limit of an address. Addresses that may do everything again are
// forgotten when there are too many; if that doesn't help, new ones share one limit.
func (l *anonymousLimiter) limitOf(p netip.Prefix, now time.Time) *addressLimit {
	if known := l.addresses[p]; known != nil {
		return known
	}
	if len(l.addresses) >= mostAddresses {
		for other, limit := range l.addresses {
			if limit.running == 0 && limit.failures.TokensAt(now) >= failureBurst {
				delete(l.addresses, other)
			}
		}
	}
	if len(l.addresses) >= mostAddresses {
		return l.shared
	}
	fresh := newAddressLimit()
	l.addresses[p] = fresh
	return fresh
}

// addressPrefix is what counts as one address: of IPv6 the /64 network of a site,
// since a single host has as many addresses there as it likes.
func addressPrefix(address string) netip.Prefix {
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

func tooMany() *refusal {
	return &refusal{status: http.StatusTooManyRequests, code: agentapi.CodeTooMany,
		detail: "too many failed calls without a client certificate from this address; try again later"}
}
