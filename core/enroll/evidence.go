package enroll

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
// A *fleet.IdentityRefusedError is certain; after any other error nobody knows.
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
// verified before, so that a stranger can't have anything verified.
func (s *Server) identify(ctx context.Context, call agentapi.EnrollRequest, subject fleet.EnrollmentSubject) (fleet.VerifiedIdentity, *refusal) {
	var none fleet.VerifiedIdentity
	if !subject.Fleet.Admission.RequiresIdentity() {
		return none, nil
	}
	provider, resource := subject.Instance.Provider, subject.Instance.ProviderInstance
	evidence := call.Evidence
	switch {
	case evidence == nil:
		return none, forbidden(agentapi.CodeIdentityMissing, "hosts of this fleet show by a signed document which instance they are, and this one sent none")
	case len(evidence.Kind) > maxEvidenceKind, len(evidence.Document) > agentapi.MaxEvidenceBytes, len(evidence.Signature) > agentapi.MaxEvidenceBytes:
		return none, badRequest("the evidence is too large: its document and its signature may have %d bytes each", agentapi.MaxEvidenceBytes)
	case resource == "":
		return none, unverified("the provider hasn't named the resource of instance %s yet", subject.Instance.ID)
	case s.Verifier == nil:
		return none, unverified("this manager has nobody to verify identities of provider.%s", provider)
	}
	done, ok := s.verifying.begin(provider)
	if !ok {
		return none, unverified("provider.%s is busy with other identities", provider)
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, s.VerifyTime)
	defer cancel()
	found, err := s.Verifier(ctx, provider, fleet.IdentityQuestion{
		Evidence: fleet.Evidence{Kind: clean(evidence.Kind, maxEvidenceKind), Document: evidence.Document, Signature: evidence.Signature},
		Fleet:    subject.Fleet.Address, Key: subject.Operation.ID, Resource: resource,
	})
	if refused, certain := errors.AsType[*fleet.IdentityRefusedError](err); certain {
		code := agentapi.CodeIdentityRefused
		if refused.Refusal == fleet.IdentityStale {
			code = agentapi.CodeIdentityStale
		}
		return none, forbidden(code, "provider.%s refuses the host's identity (%s): %s", provider, refused.Refusal, clean(refused.Reason, maxDetail))
	}
	if err != nil {
		return none, unverified("provider.%s can't verify the host's identity now", provider).with("error", err)
	}
	if found.Resource != resource { // whoever verifies compares it, too
		return none, forbidden(agentapi.CodeIdentityRefused, "the evidence is of %s, and instance %s is %s", clean(string(found.Resource), maxName), subject.Instance.ID, resource)
	}
	found.Verified = s.Now()
	return found, nil
}

// unverified says that nothing is known: nobody is admitted for it, and nobody
// refused for good.
func unverified(format string, arguments ...any) *refusal {
	return &refusal{status: http.StatusServiceUnavailable, code: agentapi.CodeIdentityUnverified, detail: fmt.Sprintf(format, arguments...)}
}
