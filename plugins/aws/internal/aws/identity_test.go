package aws

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider/providertest"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/identity"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// region is one for all tests, since to make its key takes longer than they do.
var region = sync.OnceValue(func() *ec2sim.Region {
	made, err := ec2sim.NewRegion(time.Now())
	if err != nil {
		panic(err)
	}
	return made
})

// startVerifying gives the plugin with the region's certificate.
func (l *lab) startVerifying(t *testing.T) *cloud {
	t.Helper()
	config := settings.Config{Region: "us-east-1", CallTimeout: time.Minute, Certificate: region().Certificate()}
	made, err := l.surroundings().newCloud(t.Context(), config,
		provider.Environment{Installation: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return made.(*cloud)
}

// evidenceOf is what the agent on an instance finds.
func (l *lab) evidenceOf(t *testing.T, id string) provider.Evidence {
	t.Helper()
	found, err := l.IdentityOf(region(), id)
	if err != nil {
		t.Fatal(err)
	}
	return provider.Evidence{Kind: identity.Kind, Document: []byte(found.Document), Signature: []byte(found.RSA2048),
		Fleet: "fleet.linux", Key: key, Instance: id}
}

// resigned is genuine evidence of a document that the region signed, with other
// words in it.
func resigned(t *testing.T, evidence provider.Evidence, old, replacement string) provider.Evidence {
	t.Helper()
	text := strings.ReplaceAll(string(evidence.Document), old, replacement)
	if text == string(evidence.Document) {
		t.Fatalf("the document doesn't say %s:\n%s", old, text)
	}
	signed, err := region().Sign(text, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	evidence.Document, evidence.Signature = []byte(signed.Document), []byte(signed.RSA2048)
	return evidence
}

// refusalOf names the class of a certain refusal; empty: nothing is refused.
func refusalOf(err error) string {
	if err == nil {
		return ""
	}
	return map[provider.IdentityRefusal]string{
		0: "unknown", provider.EvidenceUnreadable: "unreadable", provider.BadSignature: "bad signature",
		provider.OtherAccount: "other account",
		provider.OtherRegion:  "other region", provider.OtherInstance: "other instance", provider.StaleEvidence: "stale",
	}[provider.RefusalOf(err)]
}

func TestAHostIsWhatTheSignedDocumentSays(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.startVerifying(t)
	made, err := p.Provision(t.Context(), asked())
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.VerifyIdentity(t.Context(), l.evidenceOf(t, made.ID))
	if err != nil || got.Instance != made.ID || got.Account != "111122223333" || got.Region != "us-east-1" ||
		got.Image != image || got.Issued.IsZero() {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestAGenuineDocumentThatIsNotOfTheHostIsRefused(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.startVerifying(t)
	made, err := p.Provision(t.Context(), asked())
	if err != nil {
		t.Fatal(err)
	}
	one := asked()
	copied := more(t, p, one, p.tagsOf(&one))
	foreign := more(t, p, one, map[string]string{tagInstallation: "another", tagKey: key})
	genuine := l.evidenceOf(t, made.ID)
	of := func(id string) provider.Evidence { return l.evidenceOf(t, id) }
	with := func(e provider.Evidence, change func(*provider.Evidence)) provider.Evidence { change(&e); return e }
	for _, c := range []struct {
		name     string
		evidence provider.Evidence
		refusal  string
	}{
		{"a document of another account", resigned(t, genuine, "111122223333", "444455556666"), "other account"},
		{"a document of another region", resigned(t, genuine, `"us-east-1"`, `"eu-central-1"`), "other region"},
		{"a document of another host of ours", with(genuine, func(e *provider.Evidence) {
			e.Instance = copied
		}), "other instance"},
		{"a document of a copy of a host", of(copied), "other instance"},
		{"a document of another installation's host", of(foreign), "other instance"},
		{"a document of a host of another key", with(genuine, func(e *provider.Evidence) {
			e.Key = "01jx0000000000000000000002"
		}), "other instance"},
		{"a document of an earlier start", resigned(t, genuine, `"pendingTime": "2`, `"pendingTime": "1`), "stale"},
		{"a document that was changed", with(genuine, func(e *provider.Evidence) {
			e.Document = []byte(strings.ReplaceAll(string(e.Document), made.ID, copied))
			e.Instance = copied
		}), "bad signature"},
		{"noise", with(genuine, func(e *provider.Evidence) { e.Signature = []byte("noise") }), "unreadable"},
	} {
		got, err := p.VerifyIdentity(t.Context(), c.evidence)
		if refusal := refusalOf(err); refusal != c.refusal {
			t.Errorf("%s: wanted the refusal %q, got %q (%+v, %v)", c.name, c.refusal, refusal, got, err)
		}
	}
}

func TestADocumentOutlivesItsHostAndIsGoodForNothingThen(t *testing.T) {
	l := newLab(t, ec2sim.Options{Delays: ec2sim.Delays{Terminating: time.Minute, Forgotten: time.Minute}})
	p := l.startVerifying(t)
	made, err := p.Provision(t.Context(), asked())
	if err != nil {
		t.Fatal(err)
	}
	evidence := l.evidenceOf(t, made.ID)
	if _, err := p.Terminate(t.Context(), provider.Ref{ID: made.ID, Key: key}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"other instance", "other instance", "unknown"} { // shutting down, terminated, forgotten
		got, err := p.VerifyIdentity(t.Context(), evidence)
		if refusal := refusalOf(err); refusal != want {
			t.Fatalf("wanted %q, got %q (%+v, %v)", want, refusal, got, err)
		}
		l.Advance(time.Minute)
	}
}

// What can't be read now doesn't refuse a host for good.
func TestNobodyIsRefusedForAnAPIThatDoesNotAnswerOrLags(t *testing.T) {
	l := newLab(t, ec2sim.Options{Delays: ec2sim.Delays{Visible: time.Minute}})
	p := l.startVerifying(t)
	made, err := p.Provision(t.Context(), asked())
	if err != nil {
		t.Fatal(err)
	}
	evidence := l.evidenceOf(t, made.ID)
	if _, err := p.VerifyIdentity(t.Context(), evidence); refusalOf(err) != "unknown" {
		t.Fatalf("the list lags: %v", err)
	}
	l.Advance(time.Minute)
	l.down.Store(true)
	if _, err := p.VerifyIdentity(t.Context(), evidence); refusalOf(err) != "unknown" {
		t.Fatalf("the API is away: %v", err)
	}
	l.down.Store(false)
	if _, err := p.VerifyIdentity(t.Context(), evidence); err != nil {
		t.Fatal(err)
	}
}

// Anybody may send evidence: the account is asked only about what the region signed.
func TestForgedEvidenceCostsNoCall(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.startVerifying(t)
	made, err := p.Provision(t.Context(), asked())
	if err != nil {
		t.Fatal(err)
	}
	evidence := l.evidenceOf(t, made.ID)
	evidence.Document = append(evidence.Document, '}')
	before := l.Calls("DescribeInstances")
	if _, err := p.VerifyIdentity(t.Context(), evidence); refusalOf(err) != "bad signature" ||
		l.Calls("DescribeInstances") != before {
		t.Fatalf("%v, after %d calls", err, l.Calls("DescribeInstances")-before)
	}
}

func TestWithoutTheCertificateNothingIsVerifiedAndTheReasonIsSaid(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	made, err := p.Provision(t.Context(), asked())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.VerifyIdentity(t.Context(), l.evidenceOf(t, made.ID)); refusalOf(err) != "unknown" ||
		!strings.Contains(err.Error(), "identity_certificate") {
		t.Fatalf("wanted what is missing, got %v", err)
	}
}

// The rules of the contract for identities, with genuine evidence of an instance
// that the kit's installation has.
func TestItKeepsTheRulesOfTheContractForIdentities(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	client := ec2From(t, l)
	answer, err := client.RunInstances(t.Context(), &ec2.RunInstancesInput{
		MinCount: sdk.Int32(1), MaxCount: sdk.Int32(1), ImageId: sdk.String(image), InstanceType: "c7i.large",
		ClientToken: sdk.String(key),
	})
	if err != nil {
		t.Fatal(err)
	}
	id := *answer.Instances[0].InstanceId
	evidence := l.evidenceOf(t, id)
	tested := plugin("0.1.0", l.surroundings())
	start := tested.New
	tested.New = func(ctx context.Context, config settings.Config, environment provider.Environment) (
		provider.Provider[settings.Instance], error) {
		err := l.Tag(id, map[string]string{tagInstallation: environment.Installation, tagKey: key})
		made, startErr := start(ctx, config, environment)
		return made, errors.Join(err, startErr)
	}
	providertest.Run(t, tested, providertest.Options{
		Provider: map[string]any{"region": "us-east-1", "identity_certificate": region().Certificate()},
		Instance: map[string]any{"instance_types": []any{"c7i.large"}, "subnets": []any{subnet},
			"security_groups": []any{group}},
		Image: image, OS: "linux", Arch: "x86_64", Evidence: &evidence,
	})
}
