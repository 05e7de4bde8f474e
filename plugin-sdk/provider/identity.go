package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// IdentityVerifier is implemented where the infrastructure signs documents that say
// which instance a host is. Plugin.Identity says that what New returns is one.
type IdentityVerifier interface {
	// VerifyIdentity verifies evidence that anybody may have sent: it checks the
	// infrastructure's signature first, and reads what it vouches for from the
	// signed document only. RefuseIdentity makes the error of a certain refusal; any
	// other error says that the result is unknown, and the host asks again later.
	VerifyIdentity(ctx context.Context, evidence Evidence) (Identity, error)
}

// Evidence is what an agent found on its host, and whom it must be of. Document and
// Signature have at most 16 KiB each.
type Evidence struct {
	// Kind is whose form the evidence has: "aws".
	Kind                string
	Document, Signature []byte
	// Fleet, Key and Instance are of the instance that the host must be: Instance is
	// its Resource.ID. They prove nothing. Key and Instance are empty where the host
	// may be any member of a batch, and the verdict says which.
	Fleet, Key, Instance string
}

// Request is the call that carries the evidence; nil: there is none.
func (e *Evidence) Request() *providerpb.VerifyRequest {
	if e == nil {
		return nil
	}
	return &providerpb.VerifyRequest{
		Kind: e.Kind, Document: e.Document, Signature: e.Signature, Fleet: e.Fleet, Key: e.Key, InstanceId: e.Instance,
	}
}

// Identity is what a genuine document says. Instance is required: a Resource.ID.
type Identity struct {
	Instance, Account, Region, Image string
	// Issued is the document's own time; zero: it has none.
	Issued time.Time
}

// IdentityRefusal is why evidence is refused for certain.
type IdentityRefusal int

// The refusals.
const (
	// EvidenceUnreadable: it isn't a document of a kind that the plugin knows.
	EvidenceUnreadable = IdentityRefusal(providerpb.RefusedIdentity_CLASS_UNREADABLE)
	// BadSignature: the infrastructure hasn't signed it, or it was changed since.
	BadSignature = IdentityRefusal(providerpb.RefusedIdentity_CLASS_BAD_SIGNATURE)
	// OtherAccount, OtherRegion: genuine, and not of what the provider block reaches.
	OtherAccount = IdentityRefusal(providerpb.RefusedIdentity_CLASS_OTHER_ACCOUNT)
	OtherRegion  = IdentityRefusal(providerpb.RefusedIdentity_CLASS_OTHER_REGION)
	// OtherInstance: genuine, and not of Evidence.Instance. The SDK checks it, too.
	OtherInstance = IdentityRefusal(providerpb.RefusedIdentity_CLASS_OTHER_INSTANCE)
	// StaleEvidence: genuine and too old. The agent tries again with a newer one.
	StaleEvidence = IdentityRefusal(providerpb.RefusedIdentity_CLASS_STALE)
)

// refusedIdentity is a certain refusal.
type refusedIdentity struct {
	class  IdentityRefusal
	reason string
}

func (r *refusedIdentity) Error() string { return r.reason }

// RefuseIdentity is the error of VerifyIdentity for evidence that is certainly not
// good. The reason is one line for a person.
func RefuseIdentity(class IdentityRefusal, format string, arguments ...any) error {
	return &refusedIdentity{class: class, reason: fmt.Sprintf(format, arguments...)}
}

// RefusalOf is the class of a certain refusal; 0: the error is none.
func RefusalOf(err error) IdentityRefusal {
	if refused, certain := errors.AsType[*refusedIdentity](err); certain {
		return refused.class
	}
	return 0
}

// checkIdentity holds the plugin to its own word.
func (p Plugin[C, I]) checkIdentity(configured Provider[I]) error {
	switch _, verifies := configured.(IdentityVerifier); {
	case verifies && !p.Identity:
		return internalError(
			"the provider of the plugin is an IdentityVerifier, and the plugin doesn't say so: set Plugin.Identity")
	case !verifies && p.Identity:
		return internalError(
			"the plugin sets Plugin.Identity, and its provider is no IdentityVerifier: add the method VerifyIdentity")
	}
	return nil
}

// checkIdentityNeeds refuses the name of an attribute that the provider block lacks.
func (p Plugin[C, I]) checkIdentityNeeds(config *blockType) error {
	switch {
	case p.IdentityNeeds == "" || config == nil:
		return nil
	case !p.Identity:
		return errors.New("field IdentityNeeds is set, and Identity isn't")
	case !slices.ContainsFunc(config.attributes, func(a attribute) bool { return a.Name == p.IdentityNeeds }):
		return fmt.Errorf("field IdentityNeeds: the provider block has no attribute %q", p.IdentityNeeds)
	}
	return nil
}

// identityServer speaks the wire of the service IdentityVerifier.
type identityServer[C, I any] struct {
	providerpb.UnimplementedIdentityVerifierServer
	server *server[C, I]
}

// Verify asks the author's verifier. What needs no plugin to be refused is refused
// here: evidence that is too large for a signed document, and evidence of another instance.
func (s identityServer[C, I]) Verify(ctx context.Context, request *providerpb.VerifyRequest) (
	*providerpb.VerifyResponse, error) {
	provider, err := s.server.provider()
	if err != nil {
		return nil, err
	}
	verifier, ok := provider.(IdentityVerifier)
	if !ok { // checked when it was configured
		return nil, statusError(codes.Unimplemented, internalError("the provider verifies no identity"))
	}
	if n := max(len(request.Document), len(request.Signature)); n > providerpb.MaxEvidenceBytes {
		return identityRefused(EvidenceUnreadable,
			fmt.Sprintf("it has %d bytes, and %d is the most", n, providerpb.MaxEvidenceBytes)), nil
	}
	found, err := verifier.VerifyIdentity(ctx, Evidence{
		Kind: request.Kind, Document: request.Document, Signature: request.Signature,
		Fleet: request.Fleet, Key: request.Key, Instance: request.InstanceId,
	})
	if refused, certain := errors.AsType[*refusedIdentity](err); certain {
		return identityRefused(refused.class, refused.reason), nil
	}
	switch {
	case err != nil:
		return nil, statusError(codes.Unavailable, err)
	case found.Instance == "":
		return nil, statusError(codes.Internal, internalError("VerifyIdentity of the plugin named no instance and no error"))
	case request.InstanceId != "" && found.Instance != request.InstanceId:
		return identityRefused(OtherInstance,
			fmt.Sprintf("the document is of %s, and the host must be %s", found.Instance, request.InstanceId)), nil
	}
	verified := &providerpb.VerifiedIdentity{InstanceId: found.Instance, Account: found.Account, Region: found.Region,
		Image: found.Image}
	if !found.Issued.IsZero() {
		verified.Issued = timestamppb.New(found.Issued)
	}
	return &providerpb.VerifyResponse{Verdict: &providerpb.VerifyResponse_Verified{Verified: verified}}, nil
}

func identityRefused(class IdentityRefusal, reason string) *providerpb.VerifyResponse {
	return &providerpb.VerifyResponse{Verdict: &providerpb.VerifyResponse_Refused{
		Refused: &providerpb.RefusedIdentity{Class: providerpb.RefusedIdentity_Class(class),
			Reason: clip(reason, providerpb.MaxIdentityText)},
	}}
}

// clip cuts a text at the most bytes, between characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 {
		most--
	}
	return text[:most]
}
