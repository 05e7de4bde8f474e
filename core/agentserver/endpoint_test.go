package agentserver_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/agentserver"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
)

func TestJunkIsRefusedAsAProblem(t *testing.T) {
	w := startWorld(t)
	c := w.newCaller(newKey(t))
	h := w.provision(fleet.RunnerPolicy{})
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(csr(t, c.key), "\n-----END", "AAAA\n-----END", 1)
	stolen := func() string { // another key's request with ours in it has a wrong signature
		block, _ := pem.Decode([]byte(csr(t, c.key)))
		block.Bytes[len(block.Bytes)-1] ^= 1
		return string(pem.EncodeToMemory(block))
	}()
	with := func(f func(*agentapi.EnrollRequest)) string { return c.enrollBody(h, f) }
	for _, q := range []struct {
		name, path, body string
		status           int
		code             string
	}{
		{"an unknown endpoint", "/v1/else", "{}", 404, agentapi.CodeBadRequest},
		{"an empty body", agentapi.EnrollPath, "", 400, agentapi.CodeBadRequest},
		{"a list", agentapi.EnrollPath, "[]", 400, agentapi.CodeBadRequest},
		{"two values", agentapi.EnrollPath, "{}{}", 400, agentapi.CodeBadRequest},
		{"no token", agentapi.EnrollPath, "{}", 403, agentapi.CodeTokenUnknown},
		{"an oversized body", agentapi.EnrollPath, `{"token":"` + strings.Repeat("a", agentapi.MaxBodyBytes) + `"}`, 413,
			agentapi.CodeBadRequest},
		{"no certificate request", agentapi.EnrollPath, with(func(r *agentapi.EnrollRequest) {
			r.CSR = ""
		}), 400, agentapi.CodeBadRequest},
		{"a request with bytes behind", agentapi.EnrollPath, with(func(r *agentapi.EnrollRequest) {
			r.CSR = forged
		}), 400, agentapi.CodeBadRequest},
		{"a request with a wrong signature", agentapi.EnrollPath, with(func(r *agentapi.EnrollRequest) {
			r.CSR = stolen
		}), 400, agentapi.CodeBadRequest},
		{"an RSA key", agentapi.EnrollPath, with(func(r *agentapi.EnrollRequest) {
			r.CSR = csr(t, rsaKey)
		}), 400, agentapi.CodeBadRequest},
		{"a P-384 key", agentapi.EnrollPath, with(func(r *agentapi.EnrollRequest) {
			r.CSR = csr(t, p384)
		}), 400, agentapi.CodeBadRequest},
		{"a platform that is a sentence", agentapi.EnrollPath, with(func(r *agentapi.EnrollRequest) {
			r.OS = "Linux; rm"
		}), 400, agentapi.CodeBadRequest},
		{"a clock five minutes behind", agentapi.EnrollPath, with(func(r *agentapi.EnrollRequest) {
			r.Clock = r.Clock.Add(-6 * time.Minute)
		}), 409, agentapi.CodeClockSkew},
		{"no clock", agentapi.EnrollPath, with(func(r *agentapi.EnrollRequest) {
			r.Clock = time.Time{}
		}), 409, agentapi.CodeClockSkew},
		{"a beat without a certificate", agentapi.HeartbeatPath, marshal(t, goodBeat()), 401, agentapi.CodeUnknownRunner},
		{"a renewal without a certificate", agentapi.RenewPath, "{}", 401, agentapi.CodeUnknownRunner},
		{"a leave without a certificate", agentapi.LeavePath, "{}", 401, agentapi.CodeUnknownRunner},
	} {
		t.Run(q.name, func(t *testing.T) {
			status, body := c.post(q.path, q.body)
			var problem agentapi.Problem
			if err := json.Unmarshal(body, &problem); err != nil {
				t.Fatalf("%d: %s", status, body)
			}
			if status != q.status || problem.Code != q.code || problem.Status != status {
				t.Errorf("the answer is %d %+v", status, problem)
			}
		})
	}
	if _, enrolled := w.runner(h); enrolled {
		t.Error("junk made a runner")
	}
	if log := w.log.String(); strings.Contains(log, h.token) || strings.Contains(log, "CERTIFICATE REQUEST-----") {
		t.Error("a secret is in the log")
	}
	c.enroll(h) // and a good call still works
}

func TestAnEd25519KeyMayEnroll(t *testing.T) {
	w := startWorld(t)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := w.newCaller(key)
	c.enroll(w.provision(fleet.RunnerPolicy{}))
	if status, body := c.post(agentapi.HeartbeatPath, marshal(t, goodBeat())); status != 200 {
		t.Errorf("its beat gave %d: %s", status, body)
	}
}

func TestOnlyAdmittedRunnersGetCommands(t *testing.T) {
	w := startWorld(t)
	h := w.provision(
		fleet.RunnerPolicy{
			Command: []string{"work"},
			Env:     map[string]string{"SECRET": "x"},
			User:    "ci",
			Cleanup: []string{"sweep"},
			MaxAge:  1500 * time.Millisecond,
		},
	)
	c := w.newCaller(newKey(t))
	c.enroll(h)
	for _, q := range []struct {
		state fleet.CapacityInstanceState
		want  string
	}{
		{fleet.Provisioning, "wait"}, {fleet.Bootstrapping, "wait"}, {fleet.Enrolling, "wait"}, {fleet.Healthy, "run"},
		{fleet.Draining, "stop"}, {fleet.Failed, "stop"}, {fleet.Terminating, "stop"},
	} {
		w.setState(h.instance, q.state, "")
		_, body := c.post(agentapi.HeartbeatPath, marshal(t, goodBeat()))
		var answer agentapi.HeartbeatResponse
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatal(err)
		}
		d := answer.Directive
		if d.Want != q.want || (len(d.Command) > 0) != (q.want == "run") || (len(d.Env) > 0) != (q.want == "run") ||
			(len(d.Cleanup) > 0) != (q.want == "run") {
			t.Errorf("in %s the agent is told %+v", q.state, d)
		}
		if d.User != "ci" || d.RequireIsolation {
			t.Errorf("in %s the agent is told user %q, isolation required: %v", q.state, d.User, d.RequireIsolation)
		}
		if d.MaxAgeSeconds != 2 || answer.NextMillis != 250 {
			t.Errorf("max age %d s, next beat in %d ms", d.MaxAgeSeconds, answer.NextMillis)
		}
	}
	// Before admission it must know what it has to show.
	w.setState(h.instance, fleet.Enrolling, "")
	w.change(func(s *memoryStore) {
		for id, f := range s.fleets {
			f.Admission.JobIsolation = fleet.JobIsolationRequired
			s.fleets[id] = f
		}
	})
	if _, body := c.post(
		agentapi.HeartbeatPath,
		marshal(t, goodBeat()),
	); !bytes.Contains(
		body,
		[]byte(`"require_isolation":true,"user":"ci"`),
	) {
		t.Errorf("a waiting agent is told %s", body)
	}
	// Who said that it left gets no more work, even while the loop hasn't seen it.
	w.setState(h.instance, fleet.Healthy, "")
	if status, body := c.post(agentapi.LeavePath, `{"reason":"signal"}`); status != 200 {
		t.Fatalf("leaving gave %d: %s", status, body)
	}
	if _, body := c.post(
		agentapi.HeartbeatPath,
		marshal(t, goodBeat()),
	); !bytes.Contains(
		body,
		[]byte(`"want":"stop","order":"left-`),
	) {
		t.Errorf("after leaving it is told %s", body)
	}
}

func TestEveryDirectiveNamesItsOrderAndTheEchoIsStored(t *testing.T) {
	w := startWorld(t)
	h := w.provision(fleet.RunnerPolicy{Command: []string{"work"}})
	c := w.newCaller(newKey(t))
	c.enroll(h)
	seen := map[string]bool{}
	beat := goodBeat()
	for _, state := range []fleet.CapacityInstanceState{fleet.Enrolling, fleet.Healthy, fleet.Quarantined, fleet.Healthy,
		fleet.Draining, fleet.Failed, fleet.Terminating} {
		w.setState(h.instance, state, "")
		status, body := c.post(agentapi.HeartbeatPath, marshal(t, beat))
		var answer agentapi.HeartbeatResponse
		if err := json.Unmarshal(body, &answer); err != nil || status != 200 {
			t.Fatalf("%d: %s", status, body)
		}
		var instance fleet.CapacityInstance
		w.change(func(s *memoryStore) { instance = s.instances[h.instance] })
		order := answer.Directive.Order
		if order != lifecycle.OrderOf(instance) || seen[order] {
			t.Errorf("in %s the order is %q, want a new %q", state, order, lifecycle.OrderOf(instance))
		}
		seen[order] = true
		beat.Order, beat.Heard = order, answer.Directive.Want
		if status, body := c.post(agentapi.HeartbeatPath, marshal(t, beat)); status != 200 {
			t.Fatalf("its echo gave %d: %s", status, body)
		}
		w.shows(h, "the echo is stored", func(r fleet.Runner) bool { return r.Report.Order == order })
	}
	for _, junk := range []string{strings.Repeat("a", 65), "stop 1", "stop\n1", "Stop"} {
		beat.Order = junk
		if status, _ := c.post(agentapi.HeartbeatPath, marshal(t, beat)); status != 400 {
			t.Errorf("the order %q gave %d", junk, status)
		}
	}
}

func TestAnAgentsWordsAreBoundedAndCleaned(t *testing.T) {
	w := startWorld(t)
	h := w.provision(fleet.RunnerPolicy{}, "git")
	c := w.newCaller(newKey(t))
	c.enroll(h)
	beat := goodBeat()
	beat.LastExit = "red \x1b[31m alert\n" + strings.Repeat("x", 5000)
	beat.Probes = map[string]agentapi.Probe{
		"git":     {OK: true, Evidence: "git \u202eversion"},
		"signing": {OK: true, Evidence: "trust me"},
	}
	if status, body := c.post(agentapi.HeartbeatPath, marshal(t, beat)); status != 200 {
		t.Fatalf("%d: %s", status, body)
	}
	r := w.shows(h, "the beat is stored", func(r fleet.Runner) bool { return r.Beats == 1 })
	if !strings.HasPrefix(r.Report.LastExit, "red [31m alert x") || len(r.Report.LastExit) > 1024 {
		t.Errorf("its last exit is kept as %.40q with %d bytes", r.Report.LastExit, len(r.Report.LastExit))
	}
	if len(r.Report.Probes) != 1 || r.Report.Probes["git"].Evidence != "git version" {
		t.Errorf("its probes are kept as %+v", r.Report.Probes)
	}
	for _, junk := range []string{`{"phase":"dancing","isolation":"none"}`, `{"phase":"idle","isolation":"maybe"}`,
		`{"phase":"idle","isolation":"none","jobs_run":-1}`, `junk`} {
		if status, _ := c.post(agentapi.HeartbeatPath, junk); status != 400 {
			t.Errorf("%s gave %d", junk, status)
		}
	}
}

func TestARenewalIsForTheSameKey(t *testing.T) {
	w := startWorld(t)
	c := w.newCaller(newKey(t))
	c.enroll(w.provision(fleet.RunnerPolicy{}))
	if status, _ := c.post(
		agentapi.RenewPath,
		marshal(t, agentapi.RenewRequest{CSR: csr(t, newKey(t)), Clock: w.now()}),
	); status != 400 {
		t.Errorf("another key's renewal gave %d", status)
	}
	if status, body := c.post(
		agentapi.RenewPath,
		marshal(t, agentapi.RenewRequest{CSR: csr(t, c.key), Clock: w.now()}),
	); status != 200 {
		t.Errorf("a renewal gave %d: %s", status, body)
	}
}

func TestCertificateOfAnotherKeyOrInstallationIsRefused(t *testing.T) {
	w, h, c := startWorldWithCaller(t)
	c.enroll(h)
	r, _ := w.runner(h)
	for name, authority := range map[string]*pki.Authority{"ours, with another key": w.authority,
		"theirs": newWorld(t).authority} {
		key := newKey(t)
		signed, err := authority.SignRunner(r.ID, &key.PublicKey, w.now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		other := w.newCaller(key)
		other.use(tls.Certificate{Certificate: [][]byte{parsePEM(t, signed.PEM).Raw}, PrivateKey: key})
		status, body := other.post(agentapi.HeartbeatPath, marshal(t, goodBeat()))
		if !bytes.Contains(body, []byte(agentapi.CodeUnknownRunner)) {
			t.Errorf("%s: a beat gave %d %s", name, status, body)
		}
	}
}

func TestAnAgentIsDownloadedAsItsHashSays(t *testing.T) {
	w := newWorld(t)
	folder := t.TempDir()
	binaries := agentserver.NewAgentBinaries(folder)
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("forgeyard-runner-linux-arm64", "first")
	w.startManager()
	w.server.Binaries = binaries
	get := func(target string) (int, string) {
		response, err := w.newCaller(nil).http.Get(w.managerURL() + agentapi.DownloadPath + "?target=" + target)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(body)
	}
	for _, content := range []string{"first", "second version"} { // a changed file has another hash
		write("forgeyard-runner-linux-arm64", content)
		sum, err := binaries.SHA256("linux-arm64")
		if err != nil {
			t.Fatal(err)
		}
		want := sha256.Sum256([]byte(content))
		if status, body := get("linux-arm64"); status != 200 || body != content || sum != hex.EncodeToString(want[:]) {
			t.Errorf("the download of %q gave %d %q with hash %s", content, status, body, sum)
		}
	}
	var none *agentserver.NoAgentError
	for _, target := range []string{"windows-amd64", "plan9-386", "../../etc/passwd", ""} {
		if status, _ := get(target); status != 404 {
			t.Errorf("target %q gave %d", target, status)
		}
		if _, err := binaries.SHA256(target); !errors.As(err, &none) {
			t.Errorf("the hash for target %q: %v", target, err)
		}
	}
}

func TestASlowStoreIsNoReasonToGiveUp(t *testing.T) {
	w := startWorld(t)
	w.change(func(s *memoryStore) { s.failure = errors.New("the disk is full") })
	c := w.newCaller(newKey(t))
	_, body := c.post(agentapi.EnrollPath, c.enrollBody(w.provision(fleet.RunnerPolicy{}), nil))
	if !bytes.Contains(body, []byte(agentapi.CodeTryLater)) || bytes.Contains(body, []byte("disk")) {
		t.Errorf("the answer is %s", body)
	}
	w.change(func(s *memoryStore) { s.failure = nil })
}
