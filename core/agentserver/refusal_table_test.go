package agentserver_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/metadatafake"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
)

// ending is what an agent does about a refusal.
type ending string

const (
	givesUp     ending = "ends with a RefusedError"           // exit status 3
	distrusts   ending = "ends with an UntrustedManagerError" // exit status 1
	keepsTrying ending = "tries again"
)

// enrollmentRefusal is one row of what can be wrong with an enrollment. Every row
// is a real agent that calls over TLS, and its reason must be seen in three places:
// by the agent, in the manager's log, and by who looks at the manager.
type enrollmentRefusal struct {
	name string
	// prepare makes it wrong. The host is provisioned already.
	prepare func(w *world, h *host, c *agent.Config)
	code    string
	says    []string
	ending  ending
	// instance says that the refusal is told of the host's instance and not of none.
	instance bool
}

func enrollmentRefusals() []enrollmentRefusal {
	inState := func(state fleet.CapacityInstanceState) func(*world, *host, *agent.Config) {
		return func(w *world, h *host, _ *agent.Config) {
			w.setState(h.instance, state, "because of the "+string(state))
		}
	}
	distrust := func(spoil func(*bootstrap.Document)) func(*world, *host, *agent.Config) {
		return func(w *world, h *host, c *agent.Config) {
			document := w.document(*h)
			spoil(&document)
			c.TLS = trust(document)
		}
	}
	spent := func(w *world, h *host) { w.newCaller(newKey(w.t)).enroll(*h) }
	return []enrollmentRefusal{
		{
			"an expired token",
			func(w *world, h *host, _ *agent.Config) { expire(w, *h) },
			agentapi.CodeTokenExpired,
			[]string{"the token expired on ", "the manager's clock says "},
			givesUp,
			true,
		},
		{"a token that was renewed while it was looked at", func(w *world, h *host, _ *agent.Config) {
			w.change(func(s *memoryStore) {
				s.renewed = func() {
					o := s.operations[h.operation]
					o.Nonce, o.TokenHash = []byte("another"), "another"
					s.operations[h.operation] = o
				}
			})
		}, agentapi.CodeTokenUnknown, []string{"another join command was made for this host after this one"}, givesUp, true},
		{"a token of a join command that was replaced", func(w *world, h *host, _ *agent.Config) {
			w.change(func(s *memoryStore) {
				o, i := s.operations[h.operation], s.instances[h.instance]
				o.Nonce, o.TokenHash, i.Asset = []byte("another"), "another", "asset-1"
				s.operations[h.operation], s.instances[h.instance] = o, i
			})
		}, agentapi.CodeTokenUnknown, []string{"another join command was made for this host after this one"}, givesUp, false},
		{"a token of another installation", func(w *world, h *host, c *agent.Config) {
			o := w.store.operations[h.operation]
			c.Token = newWorld(w.t).tokens.Token(h.operation, o.Nonce)
		}, agentapi.CodeTokenUnknown, []string{"was not issued by this installation"}, givesUp, false},
		{
			"a malformed token",
			func(_ *world, _ *host, c *agent.Config) { c.Token = "a-word" },
			agentapi.CodeTokenUnknown,
			[]string{"was not issued by this installation"},
			givesUp,
			false,
		},
		{"a token of an operation that doesn't exist", func(w *world, _ *host, c *agent.Config) {
			c.Token = w.tokens.Token(fleet.OperationID(w.ulid()), []byte("nonce"))
		}, agentapi.CodeTokenUnknown, []string{"was not issued by this installation"}, givesUp, false},
		{
			"a token that another key spent before admission",
			func(w *world, h *host, _ *agent.Config) { spent(w, h) },
			agentapi.CodeTokenOtherKey,
			[]string{"already spent with another key"},
			givesUp,
			true,
		},
		{"a token that another key spent, after admission", func(w *world, h *host, _ *agent.Config) {
			spent(w, h)
			w.setState(h.instance, fleet.Healthy, "")
		}, agentapi.CodeTokenOtherKey, []string{"already spent with another key"}, givesUp, true},
		{"a clock that is over 5 minutes off", func(w *world, _ *host, c *agent.Config) {
			c.Now = func() time.Time { return w.now().Add(-6 * time.Minute) }
		}, agentapi.CodeClockSkew, []string{"the host's clock says ", " and the manager's ", "5m0s at most"}, keepsTrying,
			true},
		{
			"another authority",
			distrust(func(d *bootstrap.Document) { d.CAFingerprint = "sha256:" + strings.Repeat("0", 64) }),
			"handshake",
			[]string{"pins another authority"},
			distrusts,
			false,
		},
		{
			"another server name",
			distrust(func(d *bootstrap.Document) { d.ServerName = pki.ServerName("other") }),
			"handshake",
			[]string{"asks for another name"},
			distrusts,
			false,
		},
		{
			"a failed instance",
			inState(fleet.Failed),
			agentapi.CodeInstanceEnded,
			[]string{"is failed since", "because of the failed"},
			givesUp,
			true,
		},
		{
			"an instance that is terminating",
			inState(fleet.Terminating),
			agentapi.CodeInstanceEnded,
			[]string{"is terminating since", "because of the terminating"},
			givesUp,
			true,
		},
		{
			"a terminated instance",
			inState(fleet.Terminated),
			agentapi.CodeInstanceEnded,
			[]string{"is terminated since", "because of the terminated"},
			givesUp,
			true,
		},
	}
}

// batchRefusals are the rows of a host whose token is that of a batch of two, i-1 and
// i-2. Until its host is verified no one knows whose agent calls.
func batchRefusals() []enrollmentRefusal {
	row := func(name string, prepare func(w *world, r *region, members []host, c *agent.Config), code string,
		ending ending, says ...string) enrollmentRefusal {
		return enrollmentRefusal{name, func(w *world, h *host, c *agent.Config) {
			members, r := w.batchWith(*h, "i-1", "i-2")
			*h = members[0]
			c.Token = h.token
			c.Metadata = r.metadata(identityDocument{Instance: "i-3", Account: "1234", Region: "here"})
			prepare(w, r, members, c)
		}, code, says, ending, false}
	}
	return []enrollmentRefusal{
		row(
			"a verified host that is none of its token's batch",
			func(*world, *region, []host, *agent.Config) {},
			agentapi.CodeIdentityNotMember,
			givesUp,
			"provider.aws.main verified the host as i-3",
			"not one of the 2 instances",
		),
		row(
			"a host of a batch without evidence",
			func(_ *world, _ *region, _ []host, c *agent.Config) { c.Metadata = nil },
			agentapi.CodeIdentityMissing,
			keepsTrying,
			"the host sent none",
		),
		row("a host of a batch with a forged document", func(w *world, _ *region, _ []host, c *agent.Config) {
			c.Metadata = newRegion(w.t).metadata(identityDocument{Instance: "i-1", Account: "1234", Region: "here"})
		}, agentapi.CodeIdentityRefused, givesUp, "(bad signature)"),
		row(
			"a host of a batch that the provider hasn't named whole",
			func(w *world, _ *region, members []host, _ *agent.Config) {
				w.change(func(s *memoryStore) {
					i := s.instances[members[1].instance]
					i.ProviderInstance = ""
					s.instances[i.ID] = i
				})
			},
			agentapi.CodeIdentityUnverified,
			keepsTrying,
			"hasn't named the resources of 1 instances",
		),
		row("the expired token of a batch", func(w *world, _ *region, members []host, _ *agent.Config) {
			for _, h := range members {
				expire(w, h)
			}
		}, agentapi.CodeTokenExpired, givesUp, "the token expired on "),
		row("the token of a batch that has ended", func(w *world, _ *region, members []host, _ *agent.Config) {
			for _, h := range members {
				w.setState(h.instance, fleet.Terminated, "it is over")
			}
		}, agentapi.CodeInstanceEnded, givesUp, "is terminated since", "it is over"),
	}
}

// identityRefusals are the rows of a fleet whose hosts show which instance they are.
// Each host is i-1 of the account 1234.
func identityRefusals() []enrollmentRefusal {
	showing := func(change func(r *region, d *identityDocument)) func(*world, *host, *agent.Config) {
		return func(w *world, h *host, c *agent.Config) {
			r, d := w.identified(*h, "i-1"), identityDocument{Instance: "i-1", Account: "1234", Region: "here"}
			if change != nil {
				change(r, &d)
			}
			c.Metadata = r.metadata(d)
		}
	}
	row := func(name string, prepare func(*world, *host, *agent.Config), code string, ending ending,
		says ...string) enrollmentRefusal {
		return enrollmentRefusal{name, prepare, code, says, ending, true}
	}
	return []enrollmentRefusal{
		row(
			"a host without evidence",
			func(w *world, h *host, _ *agent.Config) { w.identified(*h, "i-1") },
			agentapi.CodeIdentityMissing,
			keepsTrying,
			"the host sent none",
		),
		row("a metadata service that signs nothing", func(w *world, h *host, c *agent.Config) {
			c.Metadata = w.identified(*h, "i-1").metadataOf(nil)
		}, agentapi.CodeIdentityMissing, keepsTrying, "the host sent none"),
		row(
			"the document of another instance",
			showing(func(_ *region, d *identityDocument) { d.Instance = "i-2" }),
			agentapi.CodeIdentityRefused,
			givesUp,
			"(other instance)",
			"the document is of i-2",
		),
		row(
			"a document of another account",
			showing(func(_ *region, d *identityDocument) { d.Account = "99" }),
			agentapi.CodeIdentityRefused,
			givesUp,
			"(other account)",
			"provider.aws.main refuses",
		),
		row(
			"a document of another region",
			showing(func(_ *region, d *identityDocument) { d.Region = "there" }),
			agentapi.CodeIdentityRefused,
			givesUp,
			"(other region)",
		),
		row(
			"a document that is too old",
			showing(func(_ *region, d *identityDocument) { d.Issued = time.Unix(0, 0) }),
			agentapi.CodeIdentityStale,
			keepsTrying,
			"(stale)",
		),
		row("a document that was changed after it was signed", func(w *world, h *host, c *agent.Config) {
			r := w.identified(*h, "i-1")
			document, signature := r.sign(identityDocument{Instance: "i-2", Account: "1234", Region: "here"})
			document = bytes.Replace(document, []byte("i-2"), []byte("i-1"), 1)
			c.Metadata = r.metadataOf(metadatafake.Identity(document, signature))
		}, agentapi.CodeIdentityRefused, givesUp, "(bad signature)"),
		row("a document that somebody else signed", func(w *world, h *host, c *agent.Config) {
			w.identified(*h, "i-1")
			c.Metadata = newRegion(w.t).metadata(identityDocument{Instance: "i-1", Account: "1234", Region: "here"})
		}, agentapi.CodeIdentityRefused, givesUp, "(bad signature)"),
		row("a genuine document as whose host another agent has enrolled", func(w *world, h *host, c *agent.Config) {
			other := w.provision(fleet.RunnerPolicy{})
			w.identified(other, "i-1")
			r := w.identified(*h, "i-1")
			c.Metadata = r.metadata(identityDocument{Instance: "i-1", Account: "1234", Region: "here"})
			w.change(func(s *memoryStore) {
				s.runners["other"] = fleet.Runner{
					ID:        "other",
					Instance:  other.instance,
					Operation: other.operation,
					Identity:  fleet.VerifiedIdentity{Resource: "i-1"},
				}
			})
		}, agentapi.CodeIdentityRefused, givesUp, "has enrolled as i-1", "two hosts claim the same resource"),
		row("a resource that no one has seen yet", func(w *world, h *host, c *agent.Config) {
			c.Metadata = w.identified(*h, "").metadata(identityDocument{Instance: "i-1", Account: "1234", Region: "here"})
		}, agentapi.CodeIdentityUnverified, keepsTrying, "hasn't named the resource"),
		row("a verifier that is down", func(w *world, h *host, c *agent.Config) {
			c.Metadata = w.identified(*h, "i-1").metadata(identityDocument{Instance: "i-1", Account: "1234", Region: "here"})
			w.change(func(*memoryStore) {
				w.verifier = func(context.Context, fleet.ProviderAddress, fleet.IdentityQuestion) (fleet.VerifiedIdentity, error) {
					return fleet.VerifiedIdentity{}, errors.New("its process is gone")
				}
			})
		}, agentapi.CodeIdentityUnverified, keepsTrying, "can't verify the host's identity now"),
		row("a verifier that takes one instance for another", func(w *world, h *host, c *agent.Config) {
			c.Metadata = w.identified(*h, "i-1").metadata(identityDocument{Instance: "i-1", Account: "1234", Region: "here"})
			w.change(func(*memoryStore) {
				w.verifier = func(context.Context, fleet.ProviderAddress, fleet.IdentityQuestion) (fleet.VerifiedIdentity, error) {
					return fleet.VerifiedIdentity{Resource: "i-2"}, nil
				}
			})
		}, agentapi.CodeIdentityRefused, givesUp, "the identity document is of i-2"),
	}
}

func TestRefusedEnrollmentIsReportedToAgentLogAndPeople(t *testing.T) {
	for _, row := range slices.Concat(enrollmentRefusals(), identityRefusals(), batchRefusals()) {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t)
			h := w.provision(fleet.RunnerPolicy{})
			c := w.agentConfig(h)
			row.prepare(w, &h, &c)
			before, _ := w.runner(h)
			a := w.startAgent(c)
			row.atTheAgent(t, w, a)
			w.logged("code=" + row.code)
			row.atTheManager(t, w, h)
			if after, _ := w.runner(h); after.ID != before.ID || after.KeyHash != before.KeyHash {
				t.Errorf("the refused agent is the runner %s now", after.ID)
			}
			for _, token := range []string{h.token, c.Token} {
				if token != "a-word" && strings.Contains(w.log.String(), token) {
					t.Error("the token is in a log")
				}
			}
		})
	}
}

func rsaRequest(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return csr(t, key)
}

func (row enrollmentRefusal) atTheAgent(t *testing.T, w *world, a *runningAgent) {
	t.Helper()
	if row.ending == keepsTrying {
		w.logged("enrollment failed; trying again")
		w.eventually("it tries again", func() bool { return w.refusal(row.code).Calls > 1 })
		if len(a.ended) > 0 {
			t.Fatalf("the agent ended: %v", <-a.ended)
		}
		return
	}
	err := a.wait(t)
	var untrusted *agent.UntrustedManagerError
	if row.ending == distrusts {
		if !errors.As(err, &untrusted) {
			t.Fatalf("the agent ended with %v, and should distrust", err)
		}
		return
	}
	refusedWith(t, err, row.code)
	for _, text := range row.says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the agent says %q, which lacks %q", err, text)
		}
	}
}

func (row enrollmentRefusal) atTheManager(t *testing.T, w *world, h host) {
	t.Helper()
	w.eventually("the refusal is counted", func() bool { return w.refusal(row.code).Calls > 0 })
	seen := w.refusal(row.code)
	if (seen.Instance == h.instance) != row.instance || seen.Address != "127.0.0.1" || seen.At.IsZero() {
		t.Errorf("the refusal is told as %+v", seen)
	}
	for _, text := range row.says {
		if !strings.Contains(seen.Reason, text) {
			t.Errorf("the reason is %q, which lacks %q", seen.Reason, text)
		}
	}
}

// refusal is what the manager tells of a code.
func (w *world) refusal(code string) fleet.Refusal {
	all := w.server.Refusals()
	n := slices.IndexFunc(all, func(r fleet.Refusal) bool { return r.Code == code })
	if n < 0 {
		return fleet.Refusal{}
	}
	return all[n]
}

func TestRevokedRunnersCallsNameItsInstance(t *testing.T) {
	w, h, c := startWorldWithCaller(t)
	c.enroll(h)
	w.revoke(h)
	for _, call := range []struct{ path, body string }{
		{agentapi.EnrollPath, c.enrollBody(h, nil)}, {agentapi.HeartbeatPath, marshal(t, goodBeat())},
		{agentapi.RenewPath, marshal(t, agentapi.RenewRequest{CSR: csr(t, c.key), Clock: w.now()})},
		{agentapi.LeavePath, `{"reason":"signal"}`},
	} {
		if status, body := c.post(
			call.path,
			call.body,
		); status != 403 ||
			!strings.Contains(string(body), agentapi.CodeRevoked) {
			t.Errorf("%s gave %d %s", call.path, status, body)
		}
	}
	if seen := w.refusal(
		agentapi.CodeRevoked,
	); seen.Calls != 4 || seen.Instance != h.instance ||
		!strings.Contains(seen.Reason, "was revoked on") {
		t.Errorf("the refusals are told as %+v", seen)
	}
}

func TestMalformedEnrollmentIsRefusedWithoutAnInstance(t *testing.T) {
	w, h, c := startWorldWithCaller(t)
	for name, body := range map[string]string{
		"over 262144 bytes":      `{"token":"` + strings.Repeat("a", agentapi.MaxBodyBytes) + `"}`,
		"not the JSON":           "junk",
		"expected one PEM block": c.enrollBody(h, func(r *agentapi.EnrollRequest) { r.CSR = "junk" }),
		"the key is RSA":         c.enrollBody(h, func(r *agentapi.EnrollRequest) { r.CSR = rsaRequest(t) }),
		"must be Go's names":     c.enrollBody(h, func(r *agentapi.EnrollRequest) { r.OS = "Linux!" }),
	} {
		status, answer := c.post(agentapi.EnrollPath, body)
		seen := w.server.Refusals()[0]
		if status/100 != 4 || seen.Code != agentapi.CodeBadRequest || !strings.Contains(seen.Reason, name) ||
			!strings.Contains(string(answer), name) {
			t.Errorf("%s: %d %s, told as %+v", name, status, answer, seen)
		}
	}
	if _, enrolled := w.runner(h); enrolled {
		t.Error("junk made a runner")
	}
}

func TestNamesInACertificateRequestAreIgnored(t *testing.T) {
	w, h, c := startWorldWithCaller(t)
	other := &url.URL{Scheme: "spiffe", Host: installation, Path: "/runner/" + w.ulid()}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "manager"}, DNSNames: []string{pki.ServerName(installation)}, URIs: []*url.URL{other},
	}, c.key)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	status, body := c.post(agentapi.EnrollPath, c.enrollBody(h, func(r *agentapi.EnrollRequest) { r.CSR = text }))
	var answer agentapi.EnrollResponse
	if err := json.Unmarshal(body, &answer); err != nil || status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	leaf := parsePEM(t, answer.PEM)
	if len(leaf.DNSNames) != 0 || len(leaf.URIs) != 1 || leaf.URIs[0].Path != "/runner/"+answer.RunnerID ||
		leaf.Subject.CommonName != answer.RunnerID {
		t.Errorf("the certificate is for %v %v %s", leaf.DNSNames, leaf.URIs, leaf.Subject)
	}
}

func TestTheSameTokenWithTheSameKeyIsNoRefusal(t *testing.T) {
	w, h, c := startWorldWithCaller(t)
	c.enroll(h)
	first, _ := w.runner(h)
	c.enroll(h)
	again, _ := w.runner(h)
	if refused := w.server.Refusals(); first.ID != again.ID || first.KeyHash != again.KeyHash || again.Alert != "" ||
		len(refused) != 0 {
		t.Errorf("first %s, then %s (%q), refused %v", first.ID, again.ID, again.Alert, refused)
	}
}

func TestRefusalsAreCountedByInstanceTheLatestFirst(t *testing.T) {
	w := startWorld(t)
	c := w.newCaller(newKey(t))
	for n := range 30 {
		h := w.provision(fleet.RunnerPolicy{})
		expire(w, h)
		for range 2 {
			c.post(agentapi.EnrollPath, c.enrollBody(h, nil))
		}
		if all := w.server.Refusals(); len(all) != n+1 || all[0].Calls != 2 || all[0].Instance != h.instance {
			t.Fatalf("after %d instances the refusals are %+v", n+1, all)
		}
	}
}
