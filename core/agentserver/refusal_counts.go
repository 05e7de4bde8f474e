package agentserver

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// refusalFacts counts refused calls for people who look, since the start: by
// instance where the caller has proven whose agent it is, else by code. What was
// the manager's own fault isn't among them, and neither is a request to renew.
type refusalFacts struct {
	mu    sync.Mutex
	known map[refusalFact]*fleet.Refusal
}

type refusalFact struct {
	code     string
	instance fleet.CapacityInstanceID
}

// mostRefusalFacts bounds what is kept; beyond it the oldest is forgotten.
const mostRefusalFacts = 1000

func newRefusalFacts() *refusalFacts {
	return &refusalFacts{known: map[refusalFact]*fleet.Refusal{}}
}

func (f *refusalFacts) note(address string, no *refusal, now time.Time) {
	if no.code == agentapi.CodeTryLater || no.code == agentapi.CodeCertificateExpired {
		return
	}
	fact := refusalFact{code: no.code, instance: fleet.CapacityInstanceID(no.instance())}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.known[fact]
	if r == nil {
		if len(f.known) >= mostRefusalFacts {
			f.forgetOldest()
		}
		r = &fleet.Refusal{Code: fact.code, Instance: fact.instance}
		f.known[fact] = r
	}
	r.Calls++
	r.Reason, r.Address, r.At = no.detail, address, now
}

func (f *refusalFacts) forgetOldest() {
	var oldest refusalFact
	var at time.Time
	for fact, r := range f.known {
		if at.IsZero() || r.At.Before(at) {
			oldest, at = fact, r.At
		}
	}
	delete(f.known, oldest)
}

// Refusals tells of the calls that were refused since the start, the latest first.
func (s *Server) Refusals() []fleet.Refusal {
	s.facts.mu.Lock()
	defer s.facts.mu.Unlock()
	all := make([]fleet.Refusal, 0, len(s.facts.known))
	for _, r := range s.facts.known {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b fleet.Refusal) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Instance, b.Instance))
	})
	return all
}
