package conformance_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// signing is an infrastructure that signs a document about each of its instances.
type signing struct {
	honest
	key *rsa.PublicKey
}

func (s signing) VerifyIdentity(_ context.Context, e provider.Evidence) (provider.Identity, error) {
	sum := sha256.Sum256(e.Document)
	if err := rsa.VerifyPKCS1v15(s.key, crypto.SHA256, sum[:], e.Signature); err != nil {
		return provider.Identity{},
			provider.RefuseIdentity(provider.BadSignature, "the document isn't signed by this infrastructure")
	}
	var document struct{ Instance string }
	if err := json.Unmarshal(e.Document, &document); err != nil {
		return provider.Identity{}, provider.RefuseIdentity(provider.EvidenceUnreadable, "the document is not valid JSON")
	}
	return provider.Identity{Instance: document.Instance}, nil
}

// signer makes a provider that verifies, and genuine evidence of an instance.
func signer() (func(honest) provider.Provider[instance], *providerpb.VerifyRequest, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, nil, err
	}
	document := []byte(`{"Instance": "i-7", "Account": "acme"}`)
	sum := sha256.Sum256(document)
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		return nil, nil, err
	}
	evidence := &provider.Evidence{Kind: "aws", Document: document, Signature: signature, Instance: "i-7"}
	return func(h honest) provider.Provider[instance] { return signing{h, &key.PublicKey} }, evidence.Request(), nil
}

// verdict changes what is answered to evidence.
type verdict struct {
	providerpb.IdentityVerifierServer
	change func(*providerpb.VerifyRequest, *providerpb.VerifyResponse)
}

func (v verdict) Verify(ctx context.Context, request *providerpb.VerifyRequest) (*providerpb.VerifyResponse, error) {
	response, err := v.IdentityVerifierServer.Verify(ctx, request)
	if err == nil {
		v.change(request, response)
	}
	return response, err
}

// takes answers that the evidence is good.
func takes(r *providerpb.VerifyResponse, instance string) {
	r.Verdict = &providerpb.VerifyResponse_Verified{Verified: &providerpb.VerifiedIdentity{InstanceId: instance}}
}

// refusedAs is the class of a refusal; 0: it is none.
func refusedAs(r *providerpb.VerifyResponse) providerpb.RefusedIdentity_Class {
	return r.GetRefused().GetClass()
}

var identityFaults = []fault{
	{rule: "garbage-is-no-evidence", wrong: "a document without a valid signature is accepted",
		verdict: func(q *providerpb.VerifyRequest, r *providerpb.VerifyResponse) {
			if len(q.Document) > providerpb.MaxEvidenceBytes {
				takes(r, q.InstanceId)
			}
		}},
	{rule: "evidence-verified", wrong: "genuine evidence is refused",
		verdict: func(_ *providerpb.VerifyRequest, r *providerpb.VerifyResponse) {
			if r.GetVerified() != nil {
				proto.Reset(r)
				r.Verdict = &providerpb.VerifyResponse_Refused{
					Refused: &providerpb.RefusedIdentity{Class: providerpb.RefusedIdentity_CLASS_STALE, Reason: "no"}}
			}
		}},
	{rule: "evidence-forged", wrong: "a cut signature is good enough",
		verdict: func(q *providerpb.VerifyRequest, r *providerpb.VerifyResponse) {
			if len(q.Signature) == 128 {
				takes(r, q.InstanceId)
			}
		}},
	{rule: "evidence-of-another", wrong: "whose document it is makes no difference",
		verdict: func(q *providerpb.VerifyRequest, r *providerpb.VerifyResponse) {
			if refusedAs(r) == providerpb.RefusedIdentity_CLASS_OTHER_INSTANCE {
				takes(r, q.InstanceId)
			}
		}},
}

func TestAnHonestVerifierKeepsItsRules(t *testing.T) {
	launcher, options := lab(fault{verdict: func(*providerpb.VerifyRequest, *providerpb.VerifyResponse) {}})
	options.AllowCreate = false
	results := verdicts(t, launcher, options)
	for _, f := range identityFaults {
		if result := results[f.rule]; result.Verdict != conformance.Pass {
			t.Errorf("%s: %s %s", f.rule, result.Verdict, result.Reason)
		}
	}
}

func TestWithoutGenuineEvidenceOnlyGarbageIsTried(t *testing.T) {
	launcher, options := lab(fault{verdict: func(*providerpb.VerifyRequest, *providerpb.VerifyResponse) {}})
	options.AllowCreate, options.Evidence = false, nil
	results := verdicts(t, launcher, options)
	for _, f := range identityFaults {
		want := conformance.Skip
		if f.rule == "garbage-is-no-evidence" {
			want = conformance.Pass
		}
		if result := results[f.rule]; result.Verdict != want {
			t.Errorf("%s: %s %s", f.rule, result.Verdict, result.Reason)
		}
	}
}
