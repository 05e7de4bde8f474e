package agentserver

import (
	"context"
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
)

// enrollMember takes the token of a batch, which all its hosts have. It is good once
// for each member, and only what the provider's signature says of a host tells which
// one that is: whatever the fleet requires by now, no host enrolls without it. A
// token that leaked is worth nothing to who isn't a member, and can't make one of them
// suspicious.
func (s *Server) enrollMember(
	r *http.Request,
	call agentapi.EnrollRequest,
	csr pki.CertificateRequest,
	token enrollmentToken,
) (any, error) {
	about, members := token.about(), token.subjects
	for _, member := range members {
		if member.Runner != nil && member.Runner.KeyHash == csr.KeyHash {
			return s.enrollAgain(r, call, csr, member) // the key proves who it is
		}
	}
	if refused := s.refuseAll(call, members); refused != nil {
		return nil, refused.with(about...)
	}
	member, identity, refused := s.identifyMember(r.Context(), call, members)
	if refused != nil {
		return nil, refused.with(about...)
	}
	if member.Runner != nil {
		return s.enrollAgain(r, call, csr, member)
	}
	if refused := s.refuseEnrollment(call, member, lifecycle.AcceptsEnrollment(member.Instance.State)); refused != nil {
		return nil, refused.with(append(about, "operation", member.Operation.ID, "instance", member.Instance.ID)...)
	}
	return s.enrollFirst(r, call, csr, member, identity)
}

// refuseAll is the refusal of a call that no member could make, before anybody is
// asked who makes it.
func (s *Server) refuseAll(call agentapi.EnrollRequest, members []fleet.EnrollmentSubject) (first *refusal) {
	for _, member := range members {
		accepts := lifecycle.AcceptsEnrollment(member.Instance.State) || member.Runner != nil
		refused := s.refuseEnrollment(call, member, accepts)
		if refused == nil {
			return nil
		}
		if first == nil {
			first = refused
		}
	}
	return first
}

// identifyMember finds the one member that the evidence is of.
func (s *Server) identifyMember(
	ctx context.Context,
	call agentapi.EnrollRequest,
	members []fleet.EnrollmentSubject,
) (fleet.EnrollmentSubject, fleet.VerifiedIdentity, *refusal) {
	var none fleet.EnrollmentSubject
	evidence, refused := evidenceIn(call)
	if refused != nil {
		return none, fleet.VerifiedIdentity{}, refused
	}
	provider := members[0].Instance.Provider
	found, refused := s.verify(ctx, provider, fleet.IdentityQuestion{Evidence: evidence, Fleet: members[0].Fleet.Address})
	if refused != nil {
		return none, fleet.VerifiedIdentity{}, refused
	}
	unnamed := 0
	for _, member := range members {
		switch member.Instance.ProviderInstance {
		case "":
			unnamed++
		case found.Resource:
			return member, found, nil
		}
	}
	resource := clean(string(found.Resource), maxName)
	if resource == "" || unnamed > 0 {
		return none, fleet.VerifiedIdentity{}, unverified(
			"the host is %q, and the provider hasn't named the resources of %d instances of the batch yet",
			resource,
			unnamed,
		)
	}
	return none, fleet.VerifiedIdentity{}, forbidden(
		agentapi.CodeIdentityNotMember,
		"provider.%s verified the host as %s, which is not one of the %d instances of the token",
		provider,
		resource,
		len(members),
	)
}
