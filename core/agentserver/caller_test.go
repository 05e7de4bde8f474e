package agentserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// caller speaks the wire without the agent's care.
type caller struct {
	w    *world
	key  any
	http *http.Client
}

func (w *world) newCaller(key any) *caller {
	c := &caller{w: w, key: key}
	c.use(tls.Certificate{})
	return c
}

func (c *caller) use(certificate tls.Certificate) {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }}}
	c.http = &http.Client{Transport: transport}
	c.w.t.Cleanup(transport.CloseIdleConnections)
}

func (c *caller) post(path, body string) (int, []byte) {
	c.w.t.Helper()
	response, err := c.http.Post(c.w.managerURL()+path, "application/json", strings.NewReader(body))
	if err != nil {
		c.w.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		c.w.t.Fatal(err)
	}
	return response.StatusCode, answer
}

func (c *caller) enrollBody(h host, change func(*agentapi.EnrollRequest)) string {
	call := agentapi.EnrollRequest{
		Token:        h.token,
		CSR:          csr(c.w.t, c.key),
		Clock:        c.w.now(),
		AgentVersion: "1",
		OS:           "linux",
		Arch:         "amd64",
	}
	if change != nil {
		change(&call)
	}
	return marshal(c.w.t, call)
}

// enroll makes the caller a runner.
func (c *caller) enroll(h host) {
	c.w.t.Helper()
	status, body := c.post(agentapi.EnrollPath, c.enrollBody(h, nil))
	if status != http.StatusOK {
		c.w.t.Fatalf("enrolling gave %d: %s", status, body)
	}
	var answer agentapi.EnrollResponse
	if err := json.Unmarshal(body, &answer); err != nil {
		c.w.t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.key)
	if err != nil {
		c.w.t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(
		[]byte(answer.PEM),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	)
	if err != nil {
		c.w.t.Fatal(err)
	}
	c.use(certificate)
}

func goodBeat() agentapi.Heartbeat {
	return agentapi.Heartbeat{Clock: time.Now(), AgentVersion: "1", Phase: "idle", GroupEmpty: true, Isolation: "none"}
}

func csr(t testing.TB, key any) string {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func parsePEM(t testing.TB, text string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode([]byte(text))
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
