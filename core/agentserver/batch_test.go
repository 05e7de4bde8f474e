package agentserver_test

import (
	"crypto/rand"
	"strings"
	"sync"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// batchWith puts a provisioned host and further ones into one batch: they share its
// token, and are the resources in their order.
func (w *world) batchWith(first host, resources ...fleet.ProviderInstanceRef) ([]host, *region) {
	w.t.Helper()
	nonce, err := w.tokens.NewNonce(rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	key := fleet.OperationID(w.ulid())
	token := w.tokens.Token(key, nonce)
	members := []host{first}
	for range resources[1:] {
		members = append(members, w.provision(fleet.RunnerPolicy{}))
	}
	var r *region
	for n, h := range members {
		members[n].token = token
		r = w.identified(h, resources[n])
		w.change(func(s *memoryStore) {
			i, o := s.instances[h.instance], s.operations[h.operation]
			i.Fleet, o.Fleet = s.instances[first.instance].Fleet, s.operations[first.operation].Fleet
			o.Nonce, o.TokenHash = nonce, w.tokens.Hash(token)
			o.Batch = fleet.BatchPlace{Key: key, Number: n, Size: len(members)}
			s.instances[i.ID], s.operations[o.ID] = i, o
		})
	}
	return members, r
}

// showing is what a caller sends with the token of a host and evidence of a resource.
func (c *caller) showing(h host, evidence *agentapi.Evidence) string {
	return c.enrollBody(h, func(q *agentapi.EnrollRequest) { q.Evidence = evidence })
}

func TestEachHostOfABatchEnrollsAsItselfByTheOneToken(t *testing.T) {
	w := startWorld(t)
	members, r := w.batchWith(w.provision(fleet.RunnerPolicy{}), "i-1", "i-2", "i-3")
	for n := len(members) - 1; n >= 0; n-- { // in another order than that of the batch
		c := w.agentConfig(members[n])
		c.Metadata = r.metadata(identityDocument{Instance: []string{"i-1", "i-2", "i-3"}[n], Account: "1234", Region: "here"})
		w.startAgent(c)
	}
	for n, h := range members {
		got := w.shows(h, "its agent beats", func(r fleet.Runner) bool { return r.Beats > 0 })
		if got.Identity.Resource != []fleet.ProviderInstanceRef{"i-1", "i-2", "i-3"}[n] || got.Instance != h.instance ||
			got.Tampered {
			t.Errorf("member %d enrolled as %+v", n, got)
		}
	}
}

// However they race, a batch of n gives n certificates, and each host one.
func TestATokenOfABatchGivesOneCertificateForEachOfItsHosts(t *testing.T) {
	w := startWorld(t)
	members, r := w.batchWith(w.provision(fleet.RunnerPolicy{}), "i-1", "i-2")
	counts := map[string]int{}
	var calls sync.WaitGroup
	var mu sync.Mutex
	for _, instance := range []string{"i-1", "i-2", "i-3"} {
		for range 2 { // two keys of each
			c := w.newCaller(newKey(t))
			body := c.showing(members[0], r.evidenceOf(instance))
			calls.Go(func() {
				status, answer := c.post(agentapi.EnrollPath, body)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case status == 200:
					counts[instance+" enrolled"]++
				case strings.Contains(string(answer), agentapi.CodeTokenOtherKey):
					counts[instance+" other key"]++
				case strings.Contains(string(answer), agentapi.CodeIdentityNotMember):
					counts[instance+" no member"]++
				default:
					t.Errorf("%s: %d %s", instance, status, answer)
				}
			})
		}
	}
	calls.Wait()
	for what, want := range map[string]int{"i-1 enrolled": 1, "i-1 other key": 1, "i-2 enrolled": 1, "i-2 other key": 1,
		"i-3 no member": 2} {
		if counts[what] != want {
			t.Errorf("%s: %d, want %d (%v)", what, counts[what], want, counts)
		}
	}
	for _, h := range members {
		if got, enrolled := w.runner(h); !enrolled || !got.Tampered {
			t.Errorf("a second key for %s left no mark: %+v", h.instance, got)
		}
	}
}

// The token is known to every host of the batch, and to whatever runs there. Without
// the document of another it harms only its user.
func TestWhoHasTheTokenOfABatchCanMakeNoOtherHostSuspicious(t *testing.T) {
	w := startWorld(t)
	members, r := w.batchWith(w.provision(fleet.RunnerPolicy{}), "i-1", "i-2")
	own := w.newCaller(newKey(t))
	if status, answer := own.post(agentapi.EnrollPath, own.showing(members[0], r.evidenceOf("i-1"))); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	thief := w.newCaller(newKey(t))
	for what, evidence := range map[string]*agentapi.Evidence{
		"nothing": nil, "a forged document": newRegion(t).evidenceOf("i-2"), "a machine of the thief's": r.evidenceOf("i-9"),
	} {
		if status, answer := thief.post(agentapi.EnrollPath, thief.showing(members[0], evidence)); status != 403 {
			t.Errorf("%s: %d %s", what, status, answer)
		}
	}
	if got, _ := w.runner(members[0]); got.Tampered || got.Alert != "" {
		t.Errorf("the first host has a mark: %+v", got)
	}
	late := w.newCaller(newKey(t))
	if status, answer := late.post(agentapi.EnrollPath, late.showing(members[0], r.evidenceOf("i-2"))); status != 200 {
		t.Errorf("the second host: %d %s", status, answer)
	}
}

func TestALostAnswerToAHostOfABatchIsGivenAgainWithoutAVerifier(t *testing.T) {
	w := startWorld(t)
	members, r := w.batchWith(w.provision(fleet.RunnerPolicy{}), "i-1", "i-2")
	c := w.newCaller(newKey(t))
	body := c.showing(members[0], r.evidenceOf("i-2"))
	if status, answer := c.post(agentapi.EnrollPath, body); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	first, _ := w.runner(members[1])
	w.change(func(*memoryStore) { w.verifier = nil })
	if status, answer := c.post(agentapi.EnrollPath, body); status != 200 {
		t.Errorf("%d %s", status, answer)
	}
	if again, _ := w.runner(members[1]); first.ID == "" || again.ID != first.ID || again.Tampered {
		t.Errorf("first %+v, then %+v", first, again)
	}
}

func TestAFleetThatAsksForNoEvidenceAnyMoreGetsItFromItsBatches(t *testing.T) {
	w := startWorld(t)
	members, r := w.batchWith(w.provision(fleet.RunnerPolicy{}), "i-1", "i-2")
	w.change(func(s *memoryStore) {
		f := s.fleets[s.instances[members[0].instance].Fleet]
		f.Admission.Identity = fleet.IdentityNone
		s.fleets[f.ID] = f
	})
	c := w.newCaller(newKey(t))
	if status, answer := c.post(
		agentapi.EnrollPath,
		c.showing(members[0], nil),
	); status != 403 ||
		!strings.Contains(string(answer), agentapi.CodeIdentityMissing) {
		t.Errorf("without: %d %s", status, answer)
	}
	if status, answer := c.post(agentapi.EnrollPath, c.showing(members[0], r.evidenceOf("i-1"))); status != 200 {
		t.Errorf("with: %d %s", status, answer)
	}
}

// A member's own operation has no token: the batch's stands for all.
func TestAMembersOperationIsNoToken(t *testing.T) {
	w := startWorld(t)
	members, r := w.batchWith(w.provision(fleet.RunnerPolicy{}), "i-1", "i-2")
	made := w.store.operations[members[0].operation]
	h := members[0]
	h.token = w.tokens.Token(h.operation, made.Nonce)
	c := w.newCaller(newKey(t))
	if status, answer := c.post(
		agentapi.EnrollPath,
		c.showing(h, r.evidenceOf("i-1")),
	); status != 403 ||
		!strings.Contains(string(answer), agentapi.CodeTokenUnknown) {
		t.Errorf("%d %s", status, answer)
	}
}

// Members end one by one; the others enroll all the same.
func TestAMemberThatEndedTakesNoAgentAndTheOthersDo(t *testing.T) {
	w := startWorld(t)
	members, r := w.batchWith(w.provision(fleet.RunnerPolicy{}), "i-1", "i-2")
	w.setState(members[0].instance, fleet.Terminating, "it isn't wanted any more")
	c := w.newCaller(newKey(t))
	if status, answer := c.post(
		agentapi.EnrollPath,
		c.showing(members[0], r.evidenceOf("i-1")),
	); status/100 != 4 ||
		!strings.Contains(string(answer), agentapi.CodeInstanceEnded) {
		t.Errorf("the one that ends: %d %s", status, answer)
	}
	if status, answer := c.post(agentapi.EnrollPath, c.showing(members[0], r.evidenceOf("i-2"))); status != 200 {
		t.Errorf("the other: %d %s", status, answer)
	}
}
