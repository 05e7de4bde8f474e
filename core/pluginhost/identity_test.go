//go:build unix

package pluginhost

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/metadatafake"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// signedDocument is what the test's infrastructure signs about an instance.
type signedDocument struct {
	Instance, Account, Region, Image string
	Issued                           time.Time
}

// testNotary verifies documents by the certificate that it was configured with, and
// does what odd kinds say.
type testNotary struct {
	providerpb.UnimplementedIdentityVerifierServer
	certificate *x509.Certificate
}

// learn takes a provider block that has a certificate.
func (n *testNotary) learn(body []byte) bool {
	var block struct{ Certificate []byte }
	if json.Unmarshal(body, &block) != nil || len(block.Certificate) == 0 {
		return false
	}
	var err error
	n.certificate, err = x509.ParseCertificate(block.Certificate)
	return err == nil
}

func (n *testNotary) Verify(ctx context.Context, r *providerpb.VerifyRequest) (*providerpb.VerifyResponse, error) {
	verified := func(id string) *providerpb.VerifyResponse {
		return &providerpb.VerifyResponse{
			Verdict: &providerpb.VerifyResponse_Verified{Verified: &providerpb.VerifiedIdentity{InstanceId: id}},
		}
	}
	switch r.GetKind() {
	case "hang":
		<-ctx.Done()
		return nil, ctx.Err()
	case "crash":
		os.Exit(9)
	case "no verdict":
		return &providerpb.VerifyResponse{}, nil
	case "no instance":
		return verified(""), nil
	case "somebody else":
		return verified("i-2"), nil
	case "long":
		return verified(strings.Repeat("i", providerpb.MaxIdentityText+1)), nil
	case "of a newer version":
		return &providerpb.VerifyResponse{
			Verdict: &providerpb.VerifyResponse_Refused{
				Refused: &providerpb.RefusedIdentity{Class: 99, Reason: "\x1b[2J" + strings.Repeat("r", 1<<20)},
			},
		}, nil
	}
	refused := func(class providerpb.RefusedIdentity_Class, reason string) *providerpb.VerifyResponse {
		return &providerpb.VerifyResponse{
			Verdict: &providerpb.VerifyResponse_Refused{Refused: &providerpb.RefusedIdentity{Class: class, Reason: reason}},
		}
	}
	if err := n.certificate.CheckSignature(x509.SHA256WithRSA, r.GetDocument(), r.GetSignature()); err != nil {
		return refused(providerpb.RefusedIdentity_CLASS_BAD_SIGNATURE, err.Error()), nil
	}
	var document signedDocument
	if err := json.Unmarshal(r.GetDocument(), &document); err != nil {
		return refused(providerpb.RefusedIdentity_CLASS_UNREADABLE, "it is not valid JSON"), nil
	}
	if document.Account != "1234" {
		return refused(providerpb.RefusedIdentity_CLASS_OTHER_ACCOUNT, "it is of the account "+document.Account), nil
	}
	return &providerpb.VerifyResponse{Verdict: &providerpb.VerifyResponse_Verified{Verified: &providerpb.VerifiedIdentity{
		InstanceId: document.Instance,
		Account:    document.Account,
		Region:     document.Region,
		Image:      document.Image,
		Issued:     timestamppb.New(document.Issued),
	}}}, nil
}

// notary is a running plugin that verifies, and who signs for its infrastructure.
func notary(t *testing.T) (*Process, func(signedDocument) fleet.Evidence) {
	t.Helper()
	signer := metadatafake.NewSigner(t)
	block, err := json.Marshal(map[string][]byte{"Certificate": signer.Certificate.Raw})
	if err != nil {
		t.Fatal(err)
	}
	p := started(t, launch(t, ""))
	if _, _, err := p.Configure(t.Context(), Configuration{Provider: secret.Resolved{Body: block}}); err != nil {
		t.Fatal(err)
	}
	return p, func(d signedDocument) fleet.Evidence {
		document, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return fleet.Evidence{Kind: "aws", Document: document, Signature: signer.Sign(document)}
	}
}

func TestGenuineEvidenceIsVerifiedByThePluginsProcess(t *testing.T) {
	p, sign := notary(t)
	issued := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	evidence := sign(signedDocument{Instance: "i-1", Account: "1234", Region: "r", Image: "ami-1", Issued: issued})
	got, err := p.VerifyIdentity(t.Context(), fleet.IdentityQuestion{Evidence: evidence, Resource: "i-1"})
	want := fleet.VerifiedIdentity{
		Kind:     "aws",
		Resource: "i-1",
		Account:  "1234",
		Region:   "r",
		Image:    "ami-1",
		Issued:   issued,
	}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestEvidenceThatIsNotGoodIsRefusedForCertain(t *testing.T) {
	p, sign := notary(t)
	_, other := notary(t)
	ours := signedDocument{Instance: "i-1", Account: "1234"}
	tampered := sign(signedDocument{Instance: "i-2", Account: "1234"})
	tampered.Document = []byte(strings.Replace(string(tampered.Document), "i-2", "i-1", 1))
	for name, c := range map[string]struct {
		evidence fleet.Evidence
		want     fleet.IdentityRefusal
	}{
		"a document of another instance": {sign(signedDocument{Instance: "i-2", Account: "1234"}),
			fleet.IdentityOtherInstance},
		"a document of another account": {sign(signedDocument{Instance: "i-1", Account: "99"}),
			fleet.IdentityOtherAccount},
		"a document that was changed":                {tampered, fleet.IdentityBadSignature},
		"a document that another certificate signed": {other(ours), fleet.IdentityBadSignature},
		"a document without a signature": {fleet.Evidence{Kind: "aws", Document: sign(ours).Document},
			fleet.IdentityBadSignature},
		"a document that is too large": {
			fleet.Evidence{Kind: "aws", Document: make([]byte, fleet.MaxEvidenceBytes+1)}, fleet.IdentityUnreadable},
		"a verdict about somebody else":         {fleet.Evidence{Kind: "somebody else"}, fleet.IdentityOtherInstance},
		"a refusal of a class that isn't known": {fleet.Evidence{Kind: "of a newer version"}, fleet.IdentityUnreadable},
	} {
		got, err := p.VerifyIdentity(t.Context(), fleet.IdentityQuestion{Evidence: c.evidence, Resource: "i-1"})
		refused, certain := errors.AsType[*fleet.IdentityRefusedError](err)
		if !certain || refused.Refusal != c.want || got != (fleet.VerifiedIdentity{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if certain && (len(refused.Reason) > 2*providerpb.MaxIdentityText || strings.Contains(refused.Reason, "\x1b")) {
			t.Errorf("%s: a reason of %d bytes", name, len(refused.Reason))
		}
	}
}

// What a broken verifier says is neither a yes nor a refusal.
func TestAVerifierThatHangsCrashesOrBabblesDecidesNothing(t *testing.T) {
	p, _ := notary(t)
	ask := func(ctx context.Context, kind string, texts ...string) {
		t.Helper()
		got, err := p.VerifyIdentity(ctx, fleet.IdentityQuestion{Evidence: fleet.Evidence{Kind: kind}, Resource: "i-1"})
		wantError(t, err, texts...)
		if errors.As(err, new(*fleet.IdentityRefusedError)) || got != (fleet.VerifiedIdentity{}) {
			t.Errorf("%s is a verdict: %+v, %v", kind, got, err)
		}
	}
	ask(t.Context(), "no verdict", "neither a refusal nor an identity")
	ask(t.Context(), "no instance", "names no instance")
	ask(t.Context(), "long", "513 bytes")
	hurried, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	ask(hurried, "hang", "verify a host's identity")
	ask(t.Context(), "crash", "verify a host's identity")
	select {
	case <-p.Exited():
	case <-time.After(patience):
		t.Fatal("it lives on")
	}
	ask(t.Context(), "aws", "nothing was sent")
}

// FuzzIdentityOf: whatever a plugin answers, only the instance that was asked about
// is ever verified, and what is kept of it is short.
func FuzzIdentityOf(f *testing.F) {
	for _, seed := range []*providerpb.VerifyResponse{
		{}, {Verdict: &providerpb.VerifyResponse_Refused{Refused: &providerpb.RefusedIdentity{}}},
		{Verdict: &providerpb.VerifyResponse_Verified{
			Verified: &providerpb.VerifiedIdentity{InstanceId: "i-1", Account: "a"}}},
		{Verdict: &providerpb.VerifyResponse_Verified{Verified: &providerpb.VerifiedIdentity{InstanceId: "i-1 "}}},
	} {
		encoded, err := proto.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		var response providerpb.VerifyResponse
		if proto.Unmarshal(encoded, &response) != nil {
			return
		}
		got, err := identityOf(&response, fleet.IdentityQuestion{Resource: "i-1"})
		if err == nil &&
			(response.GetVerified().GetInstanceId() != "i-1" || got.Resource != "i-1" ||
				len(got.Account) > 4*providerpb.MaxIdentityText) {
			t.Fatalf("%v is %+v", &response, got)
		}
		if err != nil && got != (fleet.VerifiedIdentity{}) {
			t.Fatalf("refused, and %+v", got)
		}
	})
}
