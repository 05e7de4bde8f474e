package pki_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
)

const installation = "acme"

func TestKeysAreMadeOnceAndReadAgain(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "keys")
	var ids sync.Map
	var all sync.WaitGroup
	for range 8 { // also when several processes begin at once
		all.Go(func() {
			a, err := pki.LoadAuthority(folder, installation, time.Now())
			if err != nil {
				t.Error(err)
				return
			}
			k, err := pki.LoadTokens(folder)
			if err != nil {
				t.Error(err)
				return
			}
			ids.Store(a.Fingerprint()+a.KeyID()+k.KeyID(), true)
		})
	}
	all.Wait()
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d different sets of keys were made", n)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, _ := e.Info(); info.Mode().Perm() != 0o600 || strings.Contains(e.Name(), ".new") {
			t.Errorf("the keys folder has %s with mode %v", e.Name(), info.Mode())
		}
	}
	if len(entries) != 2 {
		t.Errorf("the keys folder has %d files", len(entries))
	}
}

func TestUnfinishedKeyFilesAreRemoved(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "keys")
	if err := pki.RemoveUnfinishedKeys(folder); err != nil {
		t.Fatalf("before the first start: %v", err)
	}
	before, err := pki.LoadAuthority(folder, installation, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	// Dead after the key got its name, and dead before it did.
	if err := os.Link(
		filepath.Join(folder, "authority.pem"),
		filepath.Join(folder, "authority.pem.new-5e82bc6044d8f0fa"),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"enrollment.key.new-0123456789abcdef", "not-ours.new-1"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("half a k"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := pki.RemoveUnfinishedKeys(folder); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 || entries[0].Name() != "authority.pem" || entries[1].Name() != "not-ours.new-1" {
		t.Errorf("the keys folder holds %v", entries)
	}
	after, err := pki.LoadAuthority(folder, installation, time.Now())
	if err != nil || after.Fingerprint() != before.Fingerprint() {
		t.Errorf("the authority became another: %v", err)
	}
}

func TestADamagedOrOpenKeyFileIsRefusedAndLeftAlone(t *testing.T) {
	load := map[string]func(folder string) error{
		"authority.pem":  func(f string) error { _, err := pki.LoadAuthority(f, installation, time.Now()); return err },
		"enrollment.key": func(f string) error { _, err := pki.LoadTokens(f); return err },
	}
	spoil := []struct {
		name string
		do   func(path string) error
		says string
	}{
		{
			"half of it",
			func(p string) error { c, _ := os.ReadFile(p); return os.WriteFile(p, c[:len(c)/2], 0o600) },
			"truncated or damaged",
		},
		{"nothing", func(p string) error { return os.WriteFile(p, nil, 0o600) }, "truncated or damaged"},
		{
			"something behind",
			func(p string) error { c, _ := os.ReadFile(p); return os.WriteFile(p, append(c, "x"...), 0o600) },
			"truncated or damaged",
		},
		{"a letter less", func(p string) error {
			c, _ := os.ReadFile(p)
			at := strings.Index(string(c), "\n-----END")
			return os.WriteFile(p, append(c[:at-1:at-1], c[at:]...), 0o600)
		}, "truncated or damaged"},
		{"readable by the group", func(p string) error { return os.Chmod(p, 0o640) }, "chmod 600"},
		{
			"a link",
			func(p string) error { return errors.Join(os.Rename(p, p+".x"), os.Symlink(p+".x", p)) },
			"not a regular file",
		},
	}
	for file, load := range load {
		for _, s := range spoil {
			t.Run(file+" has "+s.name, func(t *testing.T) {
				folder := t.TempDir()
				path := filepath.Join(folder, file)
				if err := load(folder); err != nil {
					t.Fatal(err)
				}
				if err := s.do(path); err != nil {
					t.Fatal(err)
				}
				before, _ := os.ReadFile(path)
				err := load(folder)
				var bad *pki.KeyFileError
				if !errors.As(err, &bad) || !strings.Contains(err.Error(), s.says) || !strings.Contains(err.Error(), path) {
					t.Fatalf("the error is %v", err)
				}
				if after, _ := os.ReadFile(path); string(after) != string(before) {
					t.Error("the file was written again")
				}
			})
		}
	}
}

func TestAnAuthorityServesItsOwnInstallationOnly(t *testing.T) {
	folder := t.TempDir()
	if _, err := pki.LoadAuthority(folder, "one", time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := pki.LoadAuthority(
		folder,
		"two",
		time.Now(),
	); err == nil ||
		!strings.Contains(err.Error(), `installation "two"`) {
		t.Errorf("another installation's authority was taken: %v", err)
	}
}

func TestAStoreWrittenWithOtherKeysIsRefused(t *testing.T) {
	if err := errors.Join(pki.CheckKeyID("authority", "", "a"), pki.CheckKeyID("authority", "a", "a")); err != nil {
		t.Error(err)
	}
	var mismatch *pki.KeyMismatchError
	if err := pki.CheckKeyID("authority", "a", "b"); !errors.As(err, &mismatch) {
		t.Errorf("another key was taken: %v", err)
	}
}

func TestTheServerCertificateIsBackdatedNamedAndMadeAgainInTime(t *testing.T) {
	now := time.Now()
	a, err := pki.LoadAuthority(t.TempDir(), installation, now)
	if err != nil {
		t.Fatal(err)
	}
	first, err := a.ServerCertificate(now)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(first.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Certificate) != 2 || fleet.DigestBytes(first.Certificate[1]) != a.Fingerprint() {
		t.Error("the chain doesn't end in the authority")
	}
	if len(leaf.DNSNames) != 1 || leaf.DNSNames[0] != "manager.acme.forgeyard-fleet.internal" {
		t.Errorf("its names are %v", leaf.DNSNames)
	}
	if age := now.Sub(leaf.NotBefore); age < 48*time.Hour-time.Minute || age > 48*time.Hour+time.Minute {
		t.Errorf("it is valid from %v before its making", age)
	}
	if same, _ := a.ServerCertificate(now.Add(24 * time.Hour)); same != first {
		t.Error("it was made again without need")
	}
	if next, _ := a.ServerCertificate(leaf.NotAfter.Add(-24 * time.Hour)); next == first {
		t.Error("it wasn't made again before it expires")
	}
}

func TestClientCertificateIdentifiesOnlyItsRunner(t *testing.T) {
	now := time.Now()
	ours, _ := pki.LoadAuthority(t.TempDir(), installation, now)
	theirs, _ := pki.LoadAuthority(t.TempDir(), installation, now)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := fleet.RunnerID("01jzzzzzzzzzzzzzzzzzzzzzzz")
	signed, err := ours.SignRunner(id, &key.PublicKey, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(signed.PEM))
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := ours.VerifyClient(leaf)
	if err != nil || caller.Runner != id {
		t.Errorf("the caller is %+v, %v", caller, err)
	}
	if leaf.URIs[0].String() != "spiffe://acme/runner/"+string(id) {
		t.Errorf("its URI is %s", leaf.URIs[0])
	}
	if _, err := theirs.VerifyClient(leaf); err == nil {
		t.Error("another authority took it")
	}
	if _, err := leaf.Verify(
		x509.VerifyOptions{Roots: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
	); err == nil {
		t.Error("it is good for a server")
	}
	server, _ := ours.ServerCertificate(now)
	asClient, _ := x509.ParseCertificate(server.Certificate[0])
	if _, err := ours.VerifyClient(asClient); err == nil {
		t.Error("the manager's certificate is good for a runner")
	}
}

func TestTokens(t *testing.T) {
	tokens, err := pki.LoadTokens(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	others, err := pki.LoadTokens(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	nonce, err := tokens.NewNonce(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := fleet.OperationID("01jzzzzzzzzzzzzzzzzzzzzzzz")
	token := tokens.Token(id, nonce)
	if again := tokens.Token(id, nonce); again != token {
		t.Error("the same operation has two tokens")
	}
	if token != strings.ToLower(token) || strings.ContainsAny(token, "=/+ ") {
		t.Errorf("the token has characters that don't survive everywhere: %s", token)
	}
	if named, ok := pki.ParseToken(token); !ok || named != id {
		t.Errorf("the token names %s", named)
	}
	operation := fleet.Operation{ID: id, Nonce: nonce, TokenHash: tokens.Hash(token)}
	changed := func(f func(*fleet.Operation)) fleet.Operation { o := operation; f(&o); return o }
	other := fleet.OperationID("01jzzzzzzzzzzzzzzzzzzzzzzy")
	renamed := strings.Replace(token, string(id), string(other), 1)
	for _, c := range []struct {
		name      string
		tokens    *pki.Tokens
		token     string
		operation fleet.Operation
		good      bool
	}{
		{"the token of the operation is good", tokens, token, operation, true},
		{"a token with one letter changed is not", tokens, token[:len(token)-2] + "ab", operation, false},
		{"nor one of another installation", others, token, operation, false},
		{"nor one with another nonce", tokens, token, changed(func(o *fleet.Operation) {
			o.Nonce = make([]byte, 16)
		}), false},
		{"nor one whose hash isn't stored", tokens, token, changed(func(o *fleet.Operation) { o.TokenHash = "" }), false},
		{"nor one with another hash stored", tokens, token, changed(func(o *fleet.Operation) {
			o.TokenHash = tokens.Hash("x")
		}), false},
		{"nor one that names another operation", tokens, renamed, changed(func(o *fleet.Operation) {
			o.ID, o.TokenHash = other, tokens.Hash(renamed)
		}), false},
		{"nor any for an operation without a nonce", tokens, tokens.Token(id, nil), changed(func(o *fleet.Operation) {
			o.Nonce = nil
		}), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.tokens.Verify(c.token, c.operation) != c.good {
				t.Errorf("Verify gave %v", !c.good)
			}
		})
	}
}

func BenchmarkTokenVerify(b *testing.B) {
	tokens, err := pki.LoadTokens(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	nonce, _ := tokens.NewNonce(rand.Reader)
	id := fleet.OperationID("01jzzzzzzzzzzzzzzzzzzzzzzz")
	token := tokens.Token(id, nonce)
	operation := fleet.Operation{ID: id, Nonce: nonce, TokenHash: tokens.Hash(token)}
	for b.Loop() {
		if !tokens.Verify(token, operation) {
			b.Fatal("a good token was refused")
		}
	}
}
