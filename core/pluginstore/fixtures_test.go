package pluginstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// example is the source of most tests' plugin.
const example = "registry.example/acme/fleet-example"

func newKey(t testing.TB) *SigningKey {
	t.Helper()
	key, err := NewSigningKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &key
}

// releaseOf is a release with a file for this machine and for two others.
func releaseOf(t testing.TB, source, version string, key *SigningKey, change ...func(*Release)) Release {
	t.Helper()
	r := Release{
		Source: source, Version: version, Protocol: 1, Key: key,
		Description: []byte(`{"name":"example","version":"` + version + `"}`), Files: map[string]string{},
	}
	dir := t.TempDir()
	for _, platform := range []string{HostPlatform(), "plan9_mips", "darwin_ppc"} {
		r.Files[platform] = filepath.Join(dir, platform)
		content := strings.Repeat(version+" for "+platform+"\n", 20_000)
		if err := os.WriteFile(r.Files[platform], []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range change {
		one(&r)
	}
	return r
}

func publish(t testing.TB, to Origin, r Release) Published {
	t.Helper()
	published, err := Publish(t.Context(), to, r)
	if err != nil {
		t.Fatal(err)
	}
	return published
}

// user is somebody with a store, a lock and what they require.
type user struct {
	t testing.TB
	Installer
	dir      string
	required Required
	lock     Lock
	warnings []string
	began    int64 // how much of the last binary was here when it began to come
}

func newUser(t testing.TB, origin Origin, source, constraint string) *user {
	t.Helper()
	u := &user{
		t:        t,
		dir:      filepath.Join(t.TempDir(), "plugins"),
		required: Required{Name: "example", Source: source, Constraint: constraint},
	}
	store, err := Open(u.dir)
	if err != nil {
		t.Fatal(err)
	}
	store.backoff = func(int) time.Duration { return time.Millisecond }
	u.Installer = Installer{
		Store: store, Origin: origin, Protocol: 1, Now: time.Now(), Check: versionIn,
		Warn: func(text string) { u.warnings = append(u.warnings, text) },
		Progress: func(p Progress) {
			if u.began < 0 {
				u.began = p.Done
			}
		},
	}
	return u
}

func versionIn(description []byte) (string, error) {
	var said struct{ Name, Version string }
	if err := json.Unmarshal(description, &said); err != nil || said.Name == "" {
		return "", errors.New("it has no name")
	}
	return said.Version, nil
}

// install installs and keeps the lock, through a file as the command does.
func (u *user) install(frozen bool) (Installed, error) {
	return u.keep(u.Installer.Install(u.t.Context(), u.required, u.lock, frozen))
}

func (u *user) update() (Installed, error) {
	return u.keep(u.Installer.Update(u.t.Context(), u.required, u.lock))
}

func (u *user) keep(done Installed, err error) (Installed, error) {
	u.t.Helper()
	if err != nil {
		return done, err
	}
	path := filepath.Join(u.t.TempDir(), LockFileName)
	if err := WriteLock(path, u.lock.With(done.LockedPlugin)); err != nil {
		u.t.Fatal(err)
	}
	if u.lock, err = ReadLock(path); err != nil {
		u.t.Fatal(err)
	}
	return done, nil
}

func (u *user) mustInstall() Installed {
	u.t.Helper()
	u.began = -1
	done, err := u.install(false)
	if err != nil {
		u.t.Fatal(err)
	}
	if err := u.Store.Verify(done.LockedPlugin); err != nil {
		u.t.Error(err)
	}
	return done
}

// refused expects an install to fail with every text, and nothing stored or locked.
func refused[E error](u *user, do func() (Installed, error), texts ...string) {
	u.t.Helper()
	before := string(u.lock.Bytes())
	_, err := do()
	var kind E
	if !errors.As(err, &kind) {
		u.t.Fatalf("got %T: %v", err, err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			u.t.Errorf("it doesn't say %q:\n%s", text, err)
		}
	}
	if string(u.lock.Bytes()) != before {
		u.t.Error("the lock has changed")
	}
	if blobs, err := filepath.Glob(
		filepath.Join(u.dir, "blobs", "sha256", "*"),
	); err != nil ||
		len(u.lock.Plugins) == 0 && len(blobs) > 0 {
		u.t.Errorf("the store has %v, %v", blobs, err)
	}
	if left, err := filepath.Glob(filepath.Join(u.dir, "tmp", "*")); err != nil || len(left) > 0 {
		u.t.Errorf("the store's tmp has %v, %v", left, err)
	}
}

func (u *user) plain() (Installed, error) { return u.install(false) }

// agreeing says yes to every key, and counts.
func agreeing(asked *[]NewSigner) func(context.Context, NewSigner) error {
	return func(_ context.Context, s NewSigner) error {
		*asked = append(*asked, s)
		return nil
	}
}

func layoutOf(t testing.TB) Origin {
	t.Helper()
	return Origin{Layout: filepath.Join(t.TempDir(), "layout")}
}

func platformsOf(p LockedPlugin) string {
	return fmt.Sprint(slices.Sorted(maps.Keys(p.Binaries)))
}
