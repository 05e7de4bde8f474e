package pluginstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheFirstInstallNamesTheKeyAndAsks(t *testing.T) {
	origin, key := layoutOf(t), newKey(t)
	published := publish(t, origin, releaseOf(t, example, "1.4.2", key))
	u := newUser(t, origin, example, "~> 1.4")
	refused[*UntrustedError](u, u.plain, string(key.Public()), "--trust-key "+string(key.Public()))

	var asked []NewSigner
	u.Agree = agreeing(&asked)
	done := u.mustInstall()
	if want := []NewSigner{{"example", example, "1.4.2", key.Public()}}; fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	if done.Signer != string(key.Public()) || done.Index != published.Index ||
		platformsOf(done.LockedPlugin) != fmt.Sprint([]string{"darwin_ppc", HostPlatform(), "plan9_mips"}) {
		t.Errorf("locked %+v", done.LockedPlugin)
	}
	publish(t, origin, releaseOf(t, example, "1.5.0", key))
	if done, err := u.update(); err != nil || done.Version != "1.5.0" || done.Before != "1.4.2" {
		t.Errorf("updated to %+v, %v", done, err)
	}
	if len(asked) != 1 {
		t.Errorf("asked again for the same key: %v", asked)
	}
}

func TestWhoDeclinesGetsNothing(t *testing.T) {
	origin := layoutOf(t)
	publish(t, origin, releaseOf(t, example, "1.4.2", newKey(t)))
	u := newUser(t, origin, example, "")
	declined := errors.New("declined")
	u.Agree = func(context.Context, NewSigner) error { return declined }
	refused[error](u, u.plain, "declined")
}

func TestTheAdviceToNameTheKeyWorks(t *testing.T) {
	origin, key := layoutOf(t), newKey(t)
	publish(t, origin, releaseOf(t, example, "1.4.2", key))
	u := newUser(t, origin, example, "")
	u.Trusted = []PublicKey{newKey(t).Public()}
	refused[*UntrustedError](u, u.plain, string(key.Public()))
	u.Trusted = append(u.Trusted, key.Public())
	u.mustInstall()
}

func TestAnUnsignedPluginNeedsTheFilesConsent(t *testing.T) {
	origin := layoutOf(t)
	publish(t, origin, releaseOf(t, example, "1.4.2", nil))
	u := newUser(t, origin, example, "")
	u.Agree = func(context.Context, NewSigner) error { t.Error("asked"); return nil }
	refused[*UnsignedError](u, u.plain, `plugin "example" is not signed`, "allow_unsigned = true")
	u.required.AllowUnsigned = true
	if done := u.mustInstall(); done.Signer != "" || done.Index == "" {
		t.Errorf("locked %+v", done.LockedPlugin)
	}
	u.required.AllowUnsigned = false
	refused[*NotLockedError](u, func() (Installed, error) { return u.install(true) }, "unsigned")
}

func TestAVersionSignedByAnotherKeyIsRefusedUntilThatIsNamed(t *testing.T) {
	origin, key, other := layoutOf(t), newKey(t), newKey(t)
	publish(t, origin, releaseOf(t, example, "1.4.2", key))
	u := newUser(t, origin, example, "")
	u.Trusted = []PublicKey{key.Public()}
	u.mustInstall()
	publish(t, origin, releaseOf(t, example, "1.5.0", other))
	u.Agree = func(context.Context, NewSigner) error { t.Error("a changed key isn't asked about"); return nil }
	refused[*SignerError](
		u,
		u.update,
		string(key.Public()),
		string(other.Public()),
		"plugin update example --trust-key "+string(other.Public()),
	)
	u.Trusted = []PublicKey{other.Public()}
	if done, err := u.update(); err != nil || done.Signer != string(other.Public()) {
		t.Errorf("after following the advice: %+v, %v", done, err)
	}
}

func TestAVersionThatIsNotSignedAnyMoreIsRefused(t *testing.T) {
	origin, key := layoutOf(t), newKey(t)
	publish(t, origin, releaseOf(t, example, "1.4.2", key))
	u := newUser(t, origin, example, "")
	u.Trusted = []PublicKey{key.Public()}
	u.mustInstall()
	publish(t, origin, releaseOf(t, example, "1.5.0", nil))
	u.required.AllowUnsigned = true
	refused[*UnsignedError](u, u.update, "not signed any more", string(key.Public()), LockFileName)
	u.lock = Lock{} // the advice
	if done, err := u.install(false); err != nil || done.Version != "1.5.0" {
		t.Errorf("after following the advice: %+v, %v", done, err)
	}
}

// A signature says which index is which version of which repository, and
// nothing else.
func TestASignatureCopiedElsewhereIsRefused(t *testing.T) {
	key := newKey(t)
	const other = "registry.example/mallory/fleet-example"
	signedFor := func(s statement) []byte { return key.sign(s) }
	for name, one := range map[string]func(index string) statement{
		"another repository": func(index string) statement { return statement{other, "1.4.2", index} },
		"another version":    func(index string) statement { return statement{example, "1.4.1", index} },
		"another index": func(string) statement {
			return statement{example, "1.4.2", "sha256:" + strings.Repeat("0", 64)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			origin := layoutOf(t)
			published := publish(t, origin, releaseOf(t, example, "1.4.2", nil))
			place, err := openLayout(origin.Layout, example)
			if err != nil {
				t.Fatal(err)
			}
			index, err := place.resolve(t.Context(), published.Index)
			if err != nil {
				t.Fatal(err)
			}
			said := one(published.Index)
			if err := pushSignature(t.Context(), place, index, signedFor(said)); err != nil {
				t.Fatal(err)
			}
			u := newUser(t, origin, example, "")
			u.Trusted = []PublicKey{key.Public()}
			refused[*UnsignedError](
				u,
				u.plain,
				"One was refused: it is of "+said.repository+" "+said.version+" ("+said.index+")",
			)
		})
	}
}

func TestAChangedSignatureProvesNothing(t *testing.T) {
	key, s := newKey(t), statement{example, "1.4.2", "sha256:" + strings.Repeat("a", 64)}
	document := key.sign(s)
	if got, err := s.verify(document); err != nil || got != key.Public() {
		t.Fatalf("a good one: %s, %v", got, err)
	}
	for at := range document {
		changed := bytes.Clone(document)
		changed[at] ^= 1
		if got, err := s.verify(changed); err == nil {
			t.Errorf("byte %d was changed, and it is by %s", at, got)
		}
	}
	for _, text := range []string{"", string(document) + "\n", string(document[:len(document)-1]),
		strings.ReplaceAll(string(document), "\n", "\r\n")} {
		if _, err := s.verify([]byte(text)); err == nil {
			t.Errorf("accepted %q", text)
		}
	}
}

func TestASigningKeyIsReadBackAndShowsItselfToNobody(t *testing.T) {
	key := newKey(t)
	again, err := ParseSigningKey(key.Secret())
	if err != nil || again.Public() != key.Public() {
		t.Fatalf("read back %v, %v", again, err)
	}
	hidden := strings.TrimSpace(strings.TrimPrefix(string(key.Secret()), signingKeyHeader))
	for _, shown := range []string{fmt.Sprint(key), fmt.Sprint(*key), fmt.Sprintf("%+v", *key), fmt.Sprintf("%#v", *key)} {
		if strings.Contains(shown, hidden) || !strings.Contains(shown, string(key.Public())) {
			t.Errorf("it shows %s", shown)
		}
	}
	for _, text := range []string{"", "x", signingKeyHeader, signingKeyHeader + "AAAA\n", hidden} {
		if _, err := ParseSigningKey([]byte(text)); err == nil || strings.Contains(err.Error(), hidden) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := NewSigningKey(bytes.NewReader(make([]byte, 5))); err == nil {
		t.Error("made of too little randomness")
	}
	for _, text := range []string{"", "ed25519:", "ed25519:short", string(key.Public()) + "x",
		"rsa:" + string(key.Public())} {
		if _, err := ParsePublicKey(text); err == nil {
			t.Errorf("%q is taken for a key", text)
		}
	}
}

func TestTheLockFixesTheDigestWhenATagMoves(t *testing.T) {
	origin, key := layoutOf(t), newKey(t)
	first := publish(t, origin, releaseOf(t, example, "1.4.2", key))
	u := newUser(t, origin, example, "")
	u.Trusted = []PublicKey{key.Public()}
	u.mustInstall()
	again := releaseOf(t, example, "1.4.2", key, func(r *Release) {
		if err := os.WriteFile(r.Files[HostPlatform()], []byte("something else"), 0o755); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := Publish(
		t.Context(),
		origin,
		again,
	); err == nil || !strings.Contains(err.Error(), first.Index) ||
		!strings.Contains(err.Error(), "--replace") {
		t.Fatalf("published twice: %v", err)
	}
	again.Replace = true
	second := publish(t, origin, again)

	if err := os.RemoveAll(filepath.Join(u.dir, "blobs", "sha256")); err != nil {
		t.Fatal(err)
	}
	if u.Store, _ = Open(u.dir); u.Store == nil {
		t.Fatal("the store can't be opened")
	}
	done := u.mustInstall()
	if done.Index != first.Index {
		t.Errorf("installed %s", done.Index)
	}
	if len(u.warnings) != 1 || !strings.Contains(u.warnings[0], first.Index) ||
		!strings.Contains(u.warnings[0], second.Index) {
		t.Errorf("warned %q", u.warnings)
	}
	u.warnings = nil
	if done, err := u.update(); err != nil || done.Index != second.Index || len(u.warnings) != 1 {
		t.Errorf("an update takes it: %+v, %v, warned %q", done, err, u.warnings)
	}
}

// A signature doesn't grow old: who can hide the newest version could bring back
// one whose holes are known.
func TestAnUpdateThatWouldGoBackIsRefused(t *testing.T) {
	key, origin, stale := newKey(t), layoutOf(t), layoutOf(t)
	for _, version := range []string{"1.4.0", "1.5.0"} {
		publish(t, origin, releaseOf(t, example, version, key))
	}
	publish(t, stale, releaseOf(t, example, "1.4.0", key))
	u := newUser(t, origin, example, "~> 1.4")
	u.Trusted = []PublicKey{key.Public()}
	u.mustInstall()
	u.Origin = stale
	refused[*OlderError](u, u.update, "1.5.0", `version = "1.4.0"`)
	u.required.Constraint = "1.4.0"
	if done, err := u.update(); err != nil || done.Version != "1.4.0" {
		t.Errorf("the advice doesn't work: %+v, %v", done, err)
	}
}
