package agentserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Verifier asks the plugin of a provider block whether evidence is of an instance.
// A *fleet.IdentityRefusedError is certain; after any other error the identity is unknown.
type Verifier func(context.Context, fleet.ProviderAddress, fleet.IdentityQuestion) (fleet.VerifiedIdentity, error)

const (
	// verifyTime is less than an agent waits for its answer.
	verifyTime = 8 * time.Second
	// mostVerifications is how many may be under way at one provider: a verifier
	// that hangs must not hold up the calls of everybody else.
	mostVerifications = 8
	maxEvidenceKind   = 32
)

// verifications counts what is under way by provider.
type verifications struct {
	mu      sync.Mutex
	running map[fleet.ProviderAddress]int
}

func newVerifications() *verifications {
	return &verifications{running: map[fleet.ProviderAddress]int{}}
}

// begin takes a place, which done gives back; false: there is none.
func (v *verifications) begin(provider fleet.ProviderAddress) (done func(), ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.running[provider] >= mostVerifications {
		return nil, false
	}
	v.running[provider]++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.running[provider]--; v.running[provider] == 0 {
			delete(v.running, provider)
		}
	}, true
}

// identify has the agent's evidence verified where its fleet asks for that: the
// result is what the provider's signature says, and is of the resource that the
// instance has. Zero without a refusal: the fleet asks for none. The token has been
// verified before, so that unknown callers can't have anything verified.
func (s *Server) identify(
	ctx context.Context,
	call agentapi.EnrollRequest,
	subject fleet.EnrollmentSubject,
) (fleet.VerifiedIdentity, *refusal) {
	var none fleet.VerifiedIdentity
	if !subject.Fleet.Admission.RequiresIdentity() {
		return none, nil
	}
	evidence, refused := evidenceIn(call)
	if refused != nil {
		return none, refused
	}
	resource := subject.Instance.ProviderInstance
	if resource == "" {
		return none, unverified("the provider hasn't named the resource of instance %s yet", subject.Instance.ID)
	}
	found, refused := s.verify(ctx, subject.Instance.Provider, fleet.IdentityQuestion{
		Evidence: evidence, Fleet: subject.Fleet.Address, Key: subject.Operation.ID, Resource: resource,
	})
	if refused == nil && found.Resource != resource { // the verifier compares it, too
		refused = forbidden(
			agentapi.CodeIdentityRefused,
			"the identity document is of %s, but instance %s is %s",
			clean(string(found.Resource), maxName),
			subject.Instance.ID,
			resource,
		)
	}
	if refused != nil {
		return none, refused
	}
	return found, nil
}

// evidenceIn is what the agent sent about its host, where that can be evidence.
func evidenceIn(call agentapi.EnrollRequest) (fleet.Evidence, *refusal) {
	sent := call.Evidence
	switch {
	case sent == nil:
		return fleet.Evidence{}, forbidden(
			agentapi.CodeIdentityMissing,
			"this fleet requires a signed identity document, and the host sent none",
		)
	case len(sent.Kind) > maxEvidenceKind,
		len(sent.Document) > agentapi.MaxEvidenceBytes,
		len(sent.Signature) > agentapi.MaxEvidenceBytes:
		return fleet.Evidence{}, badRequest(
			"the evidence is too large: its document and its signature may have %d bytes each",
			agentapi.MaxEvidenceBytes,
		)
	}
	return fleet.Evidence{Kind: clean(sent.Kind, maxEvidenceKind), Document: sent.Document, Signature: sent.Signature}, nil
}

// verify asks the provider's plugin, a few at a time and not for long.
func (s *Server) verify(
	ctx context.Context,
	provider fleet.ProviderAddress,
	question fleet.IdentityQuestion,
) (fleet.VerifiedIdentity, *refusal) {
	var none fleet.VerifiedIdentity
	if s.Verifier == nil {
		return none, unverified("no plugin here verifies identities of provider.%s", provider)
	}
	done, ok := s.verifying.begin(provider)
	if !ok {
		return none, unverified("provider.%s is busy verifying other identities", provider)
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, s.VerifyTime)
	defer cancel()
	found, err := s.Verifier(ctx, provider, question)
	if refused, certain := errors.AsType[*fleet.IdentityRefusedError](err); certain {
		code := agentapi.CodeIdentityRefused
		if refused.Refusal == fleet.IdentityStale {
			code = agentapi.CodeIdentityStale
		}
		return none, forbidden(
			code,
			"provider.%s refuses the host's identity (%s): %s",
			provider,
			refused.Refusal,
			clean(refused.Reason, maxDetail),
		)
	}
	if err != nil {
		return none, unverified("provider.%s can't verify the host's identity now", provider).with("error", err)
	}
	found.Verified = s.Now()
	return found, nil
}

// unverified says that nothing is known: no host is admitted for it, and none is
// refused for good.
func unverified(format string, arguments ...any) *refusal {
	return &refusal{
		status: http.StatusServiceUnavailable,
		code:   agentapi.CodeIdentityUnverified,
		detail: fmt.Sprintf(format, arguments...),
	}
}
