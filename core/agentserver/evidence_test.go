package agentserver_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/metadata"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/metadatafake"
)

// identityDocument is what a region signs about an instance.
type identityDocument struct {
	Instance, Account, Region string
	Issued                    time.Time `json:",omitzero"`
}

// region is an infrastructure that signs documents, and what verifies them.
type region struct {
	t testing.TB
	*metadatafake.Signer
}

func newRegion(t testing.TB) *region {
	t.Helper()
	return &region{t: t, Signer: metadatafake.NewSigner(t)}
}

func (r *region) sign(d identityDocument) (document, signature []byte) {
	document, err := json.Marshal(d)
	if err != nil {
		r.t.Fatal(err)
	}
	document = append(document, '\n') // every byte of what is served is signed
	return document, r.Sign(document)
}

// verify is what a plugin does.
func (r *region) verify(
	_ context.Context,
	_ fleet.ProviderAddress,
	q fleet.IdentityQuestion,
) (fleet.VerifiedIdentity, error) {
	refuse := func(class fleet.IdentityRefusal, format string, arguments ...any) (fleet.VerifiedIdentity, error) {
		return fleet.VerifiedIdentity{}, &fleet.IdentityRefusedError{
			Refusal: class,
			Reason:  fmt.Sprintf(format, arguments...),
		}
	}
	if err := r.Certificate.CheckSignature(x509.SHA256WithRSA, q.Evidence.Document, q.Evidence.Signature); err != nil {
		return refuse(fleet.IdentityBadSignature, "%s", err)
	}
	var d identityDocument
	if err := json.Unmarshal(q.Evidence.Document, &d); err != nil {
		return refuse(fleet.IdentityUnreadable, "it is not valid JSON")
	}
	switch {
	case d.Account != "1234":
		return refuse(fleet.IdentityOtherAccount, "it is of the account %s", d.Account)
	case d.Region != "here":
		return refuse(fleet.IdentityOtherRegion, "it is of the region %s", d.Region)
	case q.Resource != "" && d.Instance != string(q.Resource):
		return refuse(fleet.IdentityOtherInstance, "the document is of %s, and the host must be %s", d.Instance, q.Resource)
	case !d.Issued.IsZero():
		return refuse(fleet.IdentityStale, "it is from %s", d.Issued)
	}
	return fleet.VerifiedIdentity{
		Kind:     q.Evidence.Kind,
		Resource: fleet.ProviderInstanceRef(d.Instance),
		Account:  d.Account,
		Region:   d.Region,
	}, nil
}

// metadata is the metadata service of a host that the document is about.
func (r *region) metadata(d identityDocument) *metadata.Service {
	document, signature := r.sign(d)
	return r.metadataOf(metadatafake.Identity(document, signature))
}

// metadataOf is the metadata service of a host that has the values by path.
func (r *region) metadataOf(values map[string]string) *metadata.Service {
	_, url := metadatafake.Start(r.t, values)
	return &metadata.Service{Platform: "aws", URL: url}
}

// verify asks the test's verifier.
func (w *world) verify(
	ctx context.Context,
	a fleet.ProviderAddress,
	q fleet.IdentityQuestion,
) (fleet.VerifiedIdentity, error) {
	w.store.mu.Lock()
	verifier := w.verifier
	w.store.mu.Unlock()
	if verifier == nil {
		return fleet.VerifiedIdentity{}, errors.New("there is no verifier")
	}
	return verifier(ctx, a, q)
}

// identified makes the host's fleet ask for evidence, and the resource the host's.
// The region is the one that its provider trusts from then on.
func (w *world) identified(h host, resource fleet.ProviderInstanceRef) *region {
	r := newRegion(w.t)
	w.change(func(s *memoryStore) {
		i := s.instances[h.instance]
		f := s.fleets[i.Fleet]
		f.Admission.Identity = fleet.IdentityRequired
		i.Provider, i.ProviderInstance = "aws.main", resource
		s.fleets[i.Fleet], s.instances[h.instance] = f, i
		w.verifier = r.verify
	})
	return r
}

// evidenceOf is genuine evidence as an agent sends it.
func (r *region) evidenceOf(instance string) *agentapi.Evidence {
	document, signature := r.sign(identityDocument{Instance: instance, Account: "1234", Region: "here"})
	return &agentapi.Evidence{Kind: "aws", Document: document, Signature: signature}
}

func TestAHostThatShowsWhichInstanceItIsEnrollsAndItIsRemembered(t *testing.T) {
	w := startWorld(t)
	h := w.provision(fleet.RunnerPolicy{})
	c := w.agentConfig(h)
	c.Metadata = w.identified(h, "i-1").metadata(identityDocument{Instance: "i-1", Account: "1234", Region: "here"})
	w.startAgent(c)
	got := w.shows(h, "the agent beats", func(r fleet.Runner) bool { return r.Beats > 0 }).Identity
	if got.Verified.IsZero() {
		t.Error("no one knows when it was verified")
	}
	got.Verified = time.Time{}
	if want := (fleet.VerifiedIdentity{Kind: "aws", Resource: "i-1", Account: "1234", Region: "here"}); got != want {
		t.Errorf("remembered is %+v", got)
	}
}

// A fleet that asks for none takes hosts as before, whatever they send.
func TestEvidenceThatNobodyAsksForIsNotLookedAt(t *testing.T) {
	w, h, c := startWorldWithCaller(t)
	status, body := c.post(agentapi.EnrollPath, c.enrollBody(h, func(r *agentapi.EnrollRequest) {
		r.Evidence = &agentapi.Evidence{Kind: "aws", Document: []byte("junk")}
	}))
	if r, _ := w.runner(h); status != 200 || r.Identity != (fleet.VerifiedIdentity{}) {
		t.Errorf("%d %s, %+v", status, body, r.Identity)
	}
}

func TestAStolenTokenIsWorthNothingWithoutItsHostsDocument(t *testing.T) {
	w := startWorld(t)
	h := w.provision(fleet.RunnerPolicy{})
	r := w.identified(h, "i-1")
	thief := w.newCaller(newKey(t))
	for name, evidence := range map[string]*agentapi.Evidence{
		"none": nil, "that of the thief's own instance": r.evidenceOf("i-2"),
		"made up":   {Kind: "aws", Document: []byte(`{"Instance":"i-1"}`), Signature: []byte("signed")},
		"too large": {Kind: "aws", Document: make([]byte, agentapi.MaxEvidenceBytes+1)},
	} {
		if status, body := thief.post(
			agentapi.EnrollPath,
			thief.enrollBody(h, func(q *agentapi.EnrollRequest) { q.Evidence = evidence }),
		); status/100 != 4 {
			t.Errorf("evidence: %s: %d %s", name, status, body)
		}
	}
	if _, enrolled := w.runner(h); enrolled {
		t.Fatal("the thief is enrolled")
	}
	c := w.agentConfig(h)
	c.Metadata = r.metadata(identityDocument{Instance: "i-1", Account: "1234", Region: "here"})
	w.startAgent(c)
	if got := w.shows(
		h,
		"the host enrolls all the same",
		func(r fleet.Runner) bool { return r.Beats > 0 },
	); got.Tampered ||
		got.Alert != "" {
		t.Errorf("refused calls left a mark on the host: %+v", got)
	}
}

// Two tokens and one document: the faster one has the one certificate.
func TestOfTwoAgentsWithTheSameDocumentOneEnrolls(t *testing.T) {
	w := startWorld(t)
	var hosts [4]host
	for n := range hosts {
		hosts[n] = w.provision(fleet.RunnerPolicy{})
	}
	var r *region
	for _, h := range hosts {
		r = w.identified(h, "i-1")
	}
	evidence := r.evidenceOf("i-1")
	var enrolled, refused atomic.Int32
	var calls sync.WaitGroup
	for _, h := range hosts {
		c := w.newCaller(newKey(t))
		body := c.enrollBody(h, func(q *agentapi.EnrollRequest) { q.Evidence = evidence })
		calls.Go(func() {
			switch status, answer := c.post(agentapi.EnrollPath, body); {
			case status == 200:
				enrolled.Add(1)
			case status == 403 && strings.Contains(string(answer), agentapi.CodeIdentityRefused):
				refused.Add(1)
			default:
				t.Errorf("%d %s", status, answer)
			}
		})
	}
	calls.Wait()
	if enrolled.Load() != 1 || refused.Load() != int32(len(hosts)-1) {
		t.Errorf("%d enrolled and %d were refused", enrolled.Load(), refused.Load())
	}
}

// A verifier that hangs admits no one, refuses no one, and costs those of other
// providers and those that have enrolled nothing.
func TestAVerifierThatHangsHoldsUpItsOwnHostsAlone(t *testing.T) {
	w := newWorld(t)
	w.verifyTime = time.Hour
	w.startManager()
	running := w.provision(fleet.RunnerPolicy{})
	runs := w.newCaller(newKey(t))
	runs.enroll(running)

	hung := w.provision(fleet.RunnerPolicy{})
	r := w.identified(hung, "i-1")
	other := w.provision(fleet.RunnerPolicy{})
	w.identified(other, "i-2")
	release, waiting := make(chan struct{}), make(chan struct{}, 100)
	w.change(func(s *memoryStore) {
		i := s.instances[other.instance]
		i.Provider = "aws.other"
		s.instances[other.instance] = i
		w.verifier = func(
			ctx context.Context, a fleet.ProviderAddress, q fleet.IdentityQuestion,
		) (fleet.VerifiedIdentity, error) {
			if a == "aws.main" {
				waiting <- struct{}{}
				select {
				case <-release:
				case <-ctx.Done():
					return fleet.VerifiedIdentity{}, ctx.Err()
				}
			}
			return r.verify(ctx, a, q)
		}
	})
	var calls sync.WaitGroup
	for range 8 {
		c := w.newCaller(newKey(t))
		body := c.enrollBody(hung, func(q *agentapi.EnrollRequest) { q.Evidence = r.evidenceOf("i-1") })
		calls.Go(func() { c.post(agentapi.EnrollPath, body) })
	}
	for range 8 {
		<-waiting
	}
	ninth := w.newCaller(newKey(t))
	if status, body := ninth.post(
		agentapi.EnrollPath,
		ninth.enrollBody(hung, func(q *agentapi.EnrollRequest) { q.Evidence = r.evidenceOf("i-1") }),
	); status != 503 ||
		!strings.Contains(string(body), "busy verifying other identities") {
		t.Errorf("a ninth at once: %d %s", status, body)
	}
	apart := w.newCaller(newKey(t))
	if status, body := apart.post(
		agentapi.EnrollPath,
		apart.enrollBody(other, func(q *agentapi.EnrollRequest) { q.Evidence = r.evidenceOf("i-2") }),
	); status != 200 {
		t.Errorf("a host of another provider: %d %s", status, body)
	}
	if status, body := runs.post(agentapi.HeartbeatPath, marshal(t, goodBeat())); status != 200 {
		t.Errorf("a runner's heartbeat: %d %s", status, body)
	}
	close(release)
	calls.Wait()
	if _, enrolled := w.runner(hung); !enrolled {
		t.Error("no one enrolled once the verifier answered")
	}
}

func TestAVerificationThatTakesTooLongIsGivenUpAndTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.verifyTime = 20 * time.Millisecond
	w.startManager()
	h := w.provision(fleet.RunnerPolicy{})
	r := w.identified(h, "i-1")
	w.change(func(*memoryStore) {
		w.verifier = func(
			ctx context.Context, _ fleet.ProviderAddress, _ fleet.IdentityQuestion,
		) (fleet.VerifiedIdentity, error) {
			<-ctx.Done()
			return fleet.VerifiedIdentity{}, ctx.Err()
		}
	})
	c := w.agentConfig(h)
	c.Metadata = r.metadata(identityDocument{Instance: "i-1", Account: "1234", Region: "here"})
	w.startAgent(c)
	w.eventually("it tries again and again", func() bool { return w.refusal(agentapi.CodeIdentityUnverified).Calls > 2 })
	if _, enrolled := w.runner(h); enrolled {
		t.Fatal("a verifier that says nothing admitted the host")
	}
	w.change(func(*memoryStore) { w.verifier = r.verify })
	w.shows(h, "it enrolls once the verifier answers", func(r fleet.Runner) bool { return r.Beats > 0 && !r.Tampered })
}

// The key proves who comes again: a lost answer needs no verifier.
func TestALostAnswerIsGivenAgainWhileTheVerifierIsAway(t *testing.T) {
	w := startWorld(t)
	h := w.provision(fleet.RunnerPolicy{})
	r := w.identified(h, "i-1")
	c := w.newCaller(newKey(t))
	body := c.enrollBody(h, func(q *agentapi.EnrollRequest) { q.Evidence = r.evidenceOf("i-1") })
	if status, answer := c.post(agentapi.EnrollPath, body); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	first, _ := w.runner(h)
	w.change(func(*memoryStore) { w.verifier = nil })
	if status, answer := c.post(agentapi.EnrollPath, body); status != 200 {
		t.Errorf("%d %s", status, answer)
	}
	if again, _ := w.runner(h); again.ID != first.ID || again.Identity != first.Identity {
		t.Errorf("first %+v, then %+v", first, again)
	}
}
