package daemon

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent"
	"github.com/forgeyard/forgeyard-fleet/core/agent/metadata"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/agentserver"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/metadatafake"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// TestMain makes the test binary a plugin where a manager starts it as one.
func TestMain(m *testing.M) {
	if os.Getenv(providerpb.MagicCookieKey) != "" {
		provider.Serve(provider.Plugin[notaryConfig, struct{}]{
			Name: "notary", Version: "1.0.0", Identity: true, Policy: lawyer,
			New: func(_ context.Context, c notaryConfig, _ provider.Environment) (provider.Provider[struct{}], error) {
				der, err := base64.StdEncoding.DecodeString(c.Certificate)
				if err != nil {
					return nil, err
				}
				certificate, err := x509.ParseCertificate(der)
				return notary{certificate: certificate, trap: c.Trap}, err
			},
		})
	}
	os.Exit(m.Run())
}

type notaryConfig struct {
	Certificate string `fleet:"certificate,required" doc:"Whose signatures count."`
	Trap        string `fleet:"trap,required" doc:"While the file is there, a verification ends the process."`
}

// notary is a plugin that verifies documents by a certificate, and has no machines. It is
// built with the SDK: that manager, host and SDK agree is what is tested.
type notary struct {
	certificate *x509.Certificate
	trap        string
}

func (notary) Inspect(context.Context, provider.Query) iter.Seq2[provider.Resource, error] {
	return func(func(provider.Resource, error) bool) {}
}
func (notary) Provision(context.Context, provider.ProvisionRequest[struct{}]) (provider.Resource, error) {
	return provider.Resource{}, provider.NotCreated(provider.Invalid, errors.New("it makes nothing"))
}
func (notary) Terminate(context.Context, provider.Ref) (provider.TerminateState, error) {
	return provider.Gone, nil
}
func (n notary) VerifyIdentity(_ context.Context, e provider.Evidence) (provider.Identity, error) {
	if _, err := os.Stat(n.trap); err == nil {
		os.Exit(7)
	}
	if err := n.certificate.CheckSignature(x509.SHA256WithRSA, e.Document, e.Signature); err != nil {
		return provider.Identity{}, provider.RefuseIdentity(provider.BadSignature, "%s", err)
	}
	return provider.Identity{Instance: string(e.Document), Account: "1234"}, nil
}

// hostOf is the metadata service of a host that has the document.
func hostOf(t *testing.T, document string, signer *metadatafake.Signer) *metadata.Service {
	t.Helper()
	_, url := metadatafake.Start(t, metadatafake.Identity([]byte(document), signer.Sign([]byte(document))))
	return &metadata.Service{Platform: "aws", URL: url}
}

// verifies starts a plugin process for provider.notary.main, and makes the yard's
// fleet and manager ask it.
func (y *yard) verifies(block notaryConfig) {
	y.t.Helper()
	own, err := os.Executable()
	y.must(err)
	content, err := os.ReadFile(own)
	y.must(err)
	path := filepath.Join(y.t.TempDir(), "forgeyard-plugin-notary")
	y.must(os.WriteFile(path, content, 0o755))
	digest := sha256.Sum256(content)
	body, err := json.Marshal(map[string]string{"certificate": block.Certificate, "trap": block.Trap})
	y.must(err)

	ready := make(chan struct{}, 100)
	p := newProviders(y.manager)
	p.start(y.t.Context(), func(context.Context, loop.Event) {})
	p.own["notary.main"] = p.run(pluginhost.Supervision{
		Launch: pluginhost.Launch{
			Plugin:       "notary",
			Provider:     "notary.main",
			Path:         path,
			Digest:       "sha256:" + hex.EncodeToString(digest[:]),
			RunDir:       y.options.Place.Run,
			StartTimeout: time.Minute,
			Logger:       y.options.Log,
		},
		Configuration: pluginhost.Configuration{
			Provider:     secret.Resolved{Body: body},
			Installation: "demo",
			StateDir:     y.t.TempDir(),
		},
		Changed: func(s pluginhost.SupervisorStatus) {
			if s.State == pluginhost.SupervisorReady {
				ready <- struct{}{}
			}
		},
	}, pluginSetup{})
	y.t.Cleanup(p.stop)
	select {
	case <-ready:
	case <-time.After(time.Minute):
		y.t.Fatalf("the plugin isn't ready: %v\n%s", p.own["notary.main"].supervisor.Status().Err, y.log)
	}

	y.must(y.agents.close())
	listener, err := net.Listen("tcp", y.address)
	y.must(err)
	y.agents, err = y.manager.serveAgents(listener, agentserver.Config{Verifier: p.verifyIdentity})
	y.must(err)
	state, err := y.manager.store.Load(y.t.Context())
	y.must(err)
	f := state.Fleets[0]
	f.Admission.Identity = fleet.IdentityRequired
	_, err = y.manager.store.ApplyDefinition(
		y.t.Context(),
		store.Apply{
			Expect:     1,
			Definition: fleet.Definition{Installation: "demo", Lock: "another"},
			At:         y.now(),
			By:         "ada",
			Fleets:     []fleet.ManagedFleet{f},
		},
	)
	y.must(err)
}

// known is a requested instance whose resource the provider has shown.
func (y *yard) known(resource fleet.ProviderInstanceRef) (fleet.CapacityInstanceID, fleet.OperationID) {
	y.t.Helper()
	id, op := y.request()
	subject, _, err := y.manager.store.EnrollmentSubject(y.t.Context(), op)
	y.must(err)
	subject.Instance.Provider, subject.Instance.ProviderInstance = "notary.main", resource
	y.must(y.manager.store.Commit(y.t.Context(), store.Change{Instances: []fleet.CapacityInstance{subject.Instance}}))
	return id, op
}

// From the metadata service over the agent, the manager and the plugin's process to
// the store, and back.
func TestAHostEnrollsByWhatThePluginsProcessVerifies(t *testing.T) {
	y := newYard(t)
	signer := metadatafake.NewSigner(t)
	certificate := base64.StdEncoding.EncodeToString(signer.Certificate.Raw)
	trap := filepath.Join(t.TempDir(), "trap")
	y.verifies(notaryConfig{Certificate: certificate, Trap: trap})

	id, op := y.known("i-1")
	y.metadata = hostOf(t, "i-2", signer)
	thief := y.boot(op, t.TempDir())
	select {
	case err := <-thief.ended:
		refused, ok := errors.AsType[*agent.RefusedError](err)
		if !ok || refused.Code != agentapi.CodeIdentityRefused || !strings.Contains(refused.Detail, "i-2") {
			t.Errorf("with another's document the agent ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("with another's document the agent continues\n%s", y.log)
	}

	// The plugin dies of each question for a while.
	y.must(os.WriteFile(trap, nil, 0o600))
	y.metadata = hostOf(t, "i-1", signer)
	y.boot(op, t.TempDir())
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	unverified := func() bool {
		for _, r := range y.agents.server.Refusals() {
			if r.Code == agentapi.CodeIdentityUnverified && r.Instance == id && r.Calls > 1 {
				return true
			}
		}
		return false
	}
	for deadline := time.Now().Add(time.Minute); !unverified(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("no one is told that the identity can't be verified\n%s", y.log)
		}
	}
	if subject, _, err := y.manager.store.EnrollmentSubject(t.Context(), op); err != nil || subject.Runner != nil {
		t.Fatalf("a plugin that died admitted %+v, %v", subject.Runner, err)
	}
	y.must(os.Remove(trap))
	r := y.shows(op, "it enrolls once the plugin is back", func(r fleet.Runner) bool { return r.Beats > 0 })
	if r.Identity.Resource != "i-1" || r.Identity.Account != "1234" || r.Identity.Kind != "aws" ||
		r.Identity.Verified.IsZero() ||
		r.Tampered {
		t.Errorf("remembered is %+v", r)
	}
}
