package bootstrap

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const serverName = "manager.test.forgeyard-fleet.internal"

// authority is a CA that signs server certificates for the tests.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key := newKey(t)
	return authority{certificate: sign(t, template, template, key, key), key: key}
}

// serve answers /agent with content under a certificate for the given name and time.
func (a authority) serve(t *testing.T, name string, notBefore, notAfter time.Time, content string) *httptest.Server {
	t.Helper()
	key := newKey(t)
	leaf := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotBefore: notBefore, NotAfter: notAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.certificate, key, a.key)
	mux := http.NewServeMux()
	mux.HandleFunc("/agent", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(content)) })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/agent", http.StatusFound)
	})
	server := httptest.NewUnstartedServer(mux)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{
		Certificate: [][]byte{leaf.Raw, a.certificate.Raw}, PrivateKey: key,
	}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func documentFor(server *httptest.Server, ca authority, content string) Document {
	digest := sha256.Sum256([]byte(content))
	return Document{
		Kind: KindFile, ManagerURL: server.URL, ServerName: serverName, Token: secretToken,
		CAFingerprint: Fingerprint(ca.certificate),
		AgentURL:      server.URL + "/agent", AgentSHA256: hex.EncodeToString(digest[:]),
	}
}

func TestDownloadPutsAnExecutableInPlace(t *testing.T) {
	ca := newAuthority(t)
	now := time.Now()
	server := ca.serve(t, serverName, now.Add(-time.Hour), now.Add(time.Hour), "the agent")
	destination := filepath.Join(t.TempDir(), "forgeyard-runner")
	if err := Download(t.Context(), documentFor(server, ca, "the agent"), destination); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(destination)
	if err != nil || string(content) != "the agent" {
		t.Fatalf("got %q, %v", content, err)
	}
	info, err := os.Stat(destination)
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestDownloadRefuses(t *testing.T) {
	ca := newAuthority(t)
	hour := time.Hour
	now := time.Now()
	good := ca.serve(t, serverName, now.Add(-hour), now.Add(hour), "the agent")
	other := ca.serve(t, "elsewhere.internal", now.Add(-hour), now.Add(hour), "the agent")
	for name, test := range map[string]struct {
		server *httptest.Server
		change func(*Document)
		want   string
	}{
		"another content": {good, func(d *Document) {
			d.AgentSHA256 = strings.Repeat("00", 32)
		}, "its sha256 is"},
		"a CA that isn't the pinned one": {good, func(d *Document) {
			d.CAFingerprint = Fingerprint(newAuthority(t).certificate)
		}, "no CA with the fingerprint"},
		"a server of another name": {other, func(*Document) {}, "not " + serverName},
		"an answer that isn't 200": {good, func(d *Document) { d.AgentURL += "/missing" }, "404"},
		"a redirect":               {good, func(d *Document) { d.AgentURL = good.URL + "/moved" }, "redirects"},
		"a document without agent": {good, func(d *Document) { d.AgentURL, d.AgentSHA256 = "", "" }, "names no agent_url"},
	} {
		t.Run(name, func(t *testing.T) {
			document := documentFor(test.server, ca, "the agent")
			test.change(&document)
			directory := t.TempDir()
			err := Download(t.Context(), document, filepath.Join(directory, "agent"))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, wanted an error that says %q", err, test.want)
			}
			if left, _ := os.ReadDir(directory); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestCancelledDownloadLeavesNothing(t *testing.T) {
	ca := newAuthority(t)
	server := ca.serve(t, serverName, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	directory := t.TempDir()
	err := Download(ctx, documentFor(server, ca, "x"), filepath.Join(directory, "agent"))
	if !errors.Is(err, ctx.Err()) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(directory); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
