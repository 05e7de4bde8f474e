//go:build unix

package pluginhost

import (
	"context"
	"errors"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// VerifyIdentity asks the plugin whether evidence is genuine and of the instance
// that the host must be. Call it only where the plugin's services name it. A
// *fleet.IdentityRefusedError is certain; any other error says nothing about the
// evidence, and neither does an answer that is none.
func (p *Process) VerifyIdentity(ctx context.Context, q fleet.IdentityQuestion) (fleet.VerifiedIdentity, error) {
	const doing = "verify a host's identity"
	if n := max(len(q.Evidence.Document), len(q.Evidence.Signature)); n > fleet.MaxEvidenceBytes {
		return fleet.VerifiedIdentity{}, &fleet.IdentityRefusedError{
			Refusal: fleet.IdentityUnreadable,
			Reason:  fmt.Sprintf("it has %d bytes, and %d is the most", n, fleet.MaxEvidenceBytes),
		}
	}
	request := &providerpb.VerifyRequest{
		Kind: q.Evidence.Kind, Document: q.Evidence.Document, Signature: q.Evidence.Signature,
		Fleet: string(q.Fleet), Key: string(q.Key), InstanceId: string(q.Resource),
	}
	if refusal := p.refusal(ctx, request); refusal != nil {
		return fleet.VerifiedIdentity{}, p.notSent(doing, refusal)
	}
	response, err := providerpb.NewIdentityVerifierClient(p.conn).Verify(ctx, request)
	if err != nil {
		return fleet.VerifiedIdentity{}, p.failed(doing, err)
	}
	found, err := identityOf(response, q)
	if _, certain := errors.AsType[*fleet.IdentityRefusedError](err); err != nil && !certain {
		return fleet.VerifiedIdentity{}, fmt.Errorf(
			"read the verdict of %s: %w",
			p.launch.title(),
			&CallError{Class: fleet.ErrorInternal, Message: err.Error()},
		)
	}
	return found, err
}

var identityRefusals = map[providerpb.RefusedIdentity_Class]fleet.IdentityRefusal{
	providerpb.RefusedIdentity_CLASS_BAD_SIGNATURE:  fleet.IdentityBadSignature,
	providerpb.RefusedIdentity_CLASS_OTHER_ACCOUNT:  fleet.IdentityOtherAccount,
	providerpb.RefusedIdentity_CLASS_OTHER_REGION:   fleet.IdentityOtherRegion,
	providerpb.RefusedIdentity_CLASS_OTHER_INSTANCE: fleet.IdentityOtherInstance,
	providerpb.RefusedIdentity_CLASS_STALE:          fleet.IdentityStale,
}

// identityOf converts a verdict and checks it: whatever a plugin says, evidence of
// another instance than the one that was asked about is never good.
func identityOf(response *providerpb.VerifyResponse, q fleet.IdentityQuestion) (fleet.VerifiedIdentity, error) {
	if refused := response.GetRefused(); refused != nil {
		class, known := identityRefusals[refused.GetClass()]
		if !known {
			class = fleet.IdentityUnreadable
		}
		reason := shownText(refused.GetReason(), providerpb.MaxIdentityText)
		if reason == "" {
			reason = "the plugin gave no reason"
		}
		return fleet.VerifiedIdentity{}, &fleet.IdentityRefusedError{Refusal: class, Reason: reason}
	}
	v := response.GetVerified()
	if v == nil {
		return fleet.VerifiedIdentity{}, errors.New("it is neither a refusal nor an identity")
	}
	for _, text := range []string{v.GetInstanceId(), v.GetAccount(), v.GetRegion(), v.GetImage()} {
		if len(text) > providerpb.MaxIdentityText {
			return fleet.VerifiedIdentity{}, fmt.Errorf(
				"it has a text of %d bytes, and %d is the most",
				len(text),
				providerpb.MaxIdentityText,
			)
		}
	}
	if v.GetInstanceId() == "" {
		return fleet.VerifiedIdentity{}, errors.New("it names no instance")
	}
	if q.Resource != "" && v.GetInstanceId() != string(q.Resource) {
		return fleet.VerifiedIdentity{}, &fleet.IdentityRefusedError{
			Refusal: fleet.IdentityOtherInstance,
			Reason: fmt.Sprintf("the document is of %s, and the host must be %s",
				pluginlog.Printable(v.GetInstanceId()), q.Resource),
		}
	}
	return fleet.VerifiedIdentity{
		Kind:     q.Evidence.Kind,
		Resource: fleet.ProviderInstanceRef(v.GetInstanceId()),
		Account:  pluginlog.Printable(v.GetAccount()),
		Region:   pluginlog.Printable(v.GetRegion()),
		Image:    pluginlog.Printable(v.GetImage()),
		Issued:   timeOf(v.GetIssued()),
	}, nil
}
