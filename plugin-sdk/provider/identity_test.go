package provider

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// notary is a provider that verifies identities.
type notary struct {
	scripted
	verify func(context.Context, Evidence) (Identity, error)
}

func (n *notary) VerifyIdentity(ctx context.Context, e Evidence) (Identity, error) {
	return n.verify(ctx, e)
}

func startNotary(t *testing.T, declared bool, provider Provider[testInstance]) (started, error) {
	p := testPlugin(func(context.Context, testConfig, Environment) (Provider[testInstance], error) {
		return provider, nil
	})
	p.Identity = declared
	host := startUnconfigured(t, p)
	_, err := host.Configure(t.Context(), &providerpb.ConfigureRequest{})
	return host, err
}

func TestAVerdictArrivesWhole(t *testing.T) {
	issued := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	host, err := startNotary(t, true, &notary{verify: func(_ context.Context, e Evidence) (Identity, error) {
		if e.Kind != "aws" || string(e.Document) != "d" || string(e.Signature) != "s" || e.Fleet != "f" || e.Key != "k" ||
			e.Instance != "i-1" {
			t.Errorf("asked about %+v", e)
		}
		return Identity{Instance: "i-1", Account: "1234", Region: "r", Image: "ami-1", Issued: issued}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := host.GetInfo(t.Context(), &providerpb.GetInfoRequest{})
	if err != nil || len(info.Services) != 1 || info.Services[0] != providerpb.IdentityService {
		t.Errorf("services %v, %v", info.GetServices(), err)
	}
	answer, err := host.identity.Verify(t.Context(),
		(&Evidence{Kind: "aws", Document: []byte("d"), Signature: []byte("s"), Fleet: "f", Key: "k",
			Instance: "i-1"}).Request())
	if v := answer.GetVerified(); err != nil || v.GetInstanceId() != "i-1" || v.GetAccount() != "1234" ||
		v.GetRegion() != "r" || v.GetImage() != "ami-1" || !v.GetIssued().AsTime().Equal(issued) {
		t.Errorf("got %v, %v", answer, err)
	}
}

func TestWhatTheAuthorForgetsTheKitRefuses(t *testing.T) {
	asked := 0
	host, err := startNotary(t, true, &notary{verify: func(_ context.Context, e Evidence) (Identity, error) {
		asked++
		return Identity{Instance: string(e.Document)}, nil // whatever instance it claims to be
	}})
	if err != nil {
		t.Fatal(err)
	}
	another, err := host.identity.Verify(t.Context(),
		&providerpb.VerifyRequest{Document: []byte("i-2"), InstanceId: "i-1"})
	if r := another.GetRefused(); err != nil || r.GetClass() != providerpb.RefusedIdentity_CLASS_OTHER_INSTANCE ||
		!strings.Contains(r.GetReason(), "i-2") {
		t.Errorf("another instance's document: %v, %v", another, err)
	}
	large := bytes.Repeat([]byte("i"), providerpb.MaxEvidenceBytes+1)
	for _, request := range []*providerpb.VerifyRequest{{Document: large, InstanceId: "i-1"},
		{Signature: large, InstanceId: "i-1"}} {
		answer, err := host.identity.Verify(t.Context(), request)
		if err != nil || answer.GetRefused().GetClass() != providerpb.RefusedIdentity_CLASS_UNREADABLE {
			t.Errorf("too large: %v, %v", answer, err)
		}
	}
	if asked != 1 {
		t.Errorf("the author was asked %d times", asked)
	}
	if _, err := host.identity.Verify(t.Context(), &providerpb.VerifyRequest{InstanceId: ""}); status.Code(
		err) != codes.Internal {
		t.Errorf("a verdict that names no instance: %v", err)
	}
}

func TestARefusalIsCertainAndAnyOtherErrorIsNot(t *testing.T) {
	var answer error
	host, err := startNotary(t, true, &notary{verify: func(context.Context, Evidence) (Identity, error) {
		if answer == nil {
			panic("the author's bug")
		}
		return Identity{Instance: "i-1"}, answer // the instance counts for nothing beside an error
	}})
	if err != nil {
		t.Fatal(err)
	}
	request := &providerpb.VerifyRequest{InstanceId: "i-1"}
	answer = RefuseIdentity(OtherAccount, "it is of the account %d", 99)
	refused, err := host.identity.Verify(t.Context(), request)
	if r := refused.GetRefused(); err != nil || r.GetClass() != providerpb.RefusedIdentity_CLASS_OTHER_ACCOUNT ||
		r.GetReason() != "it is of the account 99" {
		t.Errorf("%v, %v", refused, err)
	}
	for name, failure := range map[string]error{"plain": errors.New("no network"),
		"classified": &Error{Class: Auth, Err: errors.New("expired")}, "panic": nil} {
		answer = failure
		if verdict, err := host.identity.Verify(t.Context(), request); err == nil {
			t.Errorf("%s: a verdict: %v", name, verdict)
		}
	}
}

func TestAVerifierThatIsDeclaredWronglyIsAFaultOfThePlugin(t *testing.T) {
	for name, test := range map[string]struct {
		declared bool
		provider Provider[testInstance]
	}{
		"declared and not there": {true, &scripted{}},
		"there and not declared": {false, &notary{}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := startNotary(t, test.declared, test.provider); status.Code(err) != codes.Internal {
				t.Errorf("Configure ended with %v", err)
			}
		})
	}
}

func TestAVerifierCanNeedOnlyWhatItsProviderBlockHas(t *testing.T) {
	for name, c := range map[string]struct {
		identity bool
		needs    string
		good     bool
	}{
		"nothing":                         {true, "", true},
		"an attribute":                    {true, "account", true},
		"none, and verifies nothing":      {false, "", true},
		"an attribute that isn't there":   {true, "certificate", false},
		"an attribute and nothing to say": {false, "account", false},
	} {
		declared := Plugin[testConfig, testInstance]{
			Name: "notary", Version: "1.0.0", Identity: c.identity, IdentityNeeds: c.needs,
			New: func(context.Context, testConfig, Environment) (Provider[testInstance], error) { return &notary{}, nil },
		}
		if err := declared.Check(); (err == nil) != c.good {
			t.Errorf("it needs %s: %v", name, err)
		}
	}
}
