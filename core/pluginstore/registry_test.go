package pluginstore

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The tests of this file ask a real registry. Between it and them may stand a
// network that breaks connections.

func TestAPluginGoesThroughARegistry(t *testing.T) {
	t.Parallel()
	registry, key := startRegistry(t, ""), newKey(t)
	origin := environment(t, map[string]string{})
	published := publish(t, origin, releaseOf(t, registry.source(), "1.4.2+build.1", key))
	publish(t, origin, releaseOf(t, registry.source(), "0.9.0", key))

	u := newUser(t, origin, registry.source(), "~> 1.4")
	u.Trusted, u.Platforms = []PublicKey{key.Public()}, []string{"plan9_mips"}
	done := u.mustInstall()
	if done.Version != "1.4.2+build.1" || done.Index != published.Index || done.Signer != string(key.Public()) ||
		len(done.Fetched) != 2 {
		t.Errorf("installed %+v", done)
	}
	for platform, digest := range published.Builds {
		if done.Binaries[platform] != digest {
			t.Errorf("%s is locked as %s, published as %s", platform, done.Binaries[platform], digest)
		}
	}
	if again := u.mustInstall(); len(again.Fetched) != 0 {
		t.Errorf("fetched again: %+v", again)
	}

	// Another machine has only the lock, and no person to ask.
	other := newUser(t, origin, registry.source(), "~> 1.4")
	other.lock = u.lock
	if done, err := other.install(true); err != nil || done.Index != published.Index || len(done.Fetched) != 1 {
		t.Errorf("from the lock: %+v, %v", done, err)
	}
	if string(other.lock.Bytes()) != string(u.lock.Bytes()) {
		t.Errorf("the lock changed:\n%s", other.lock.Bytes())
	}
	if err := other.VerifySignature(t.Context(), done.LockedPlugin); err != nil {
		t.Error(err)
	}

	publish(t, origin, releaseOf(t, registry.source(), "1.5.0", key))
	if done, err := u.update(); err != nil || done.Version != "1.5.0" {
		t.Errorf("updated to %+v, %v", done, err)
	}
}

func TestWithoutAnythingToFetchNobodyIsAsked(t *testing.T) {
	t.Parallel()
	registry := startRegistry(t, "")
	u := newUser(t, environment(t, map[string]string{}), registry.source(), "")
	u.required.AllowUnsigned = true
	publish(t, u.Origin, releaseOf(t, registry.source(), "1.4.2", nil))
	u.mustInstall()
	registry.stop()
	u.mustInstall()
}

func TestATamperedBlobOfARegistryIsRefused(t *testing.T) {
	t.Parallel()
	registry, key := startRegistry(t, ""), newKey(t)
	u := newUser(t, environment(t, map[string]string{}), registry.source(), "")
	u.Trusted = []PublicKey{key.Public()}
	published := publish(t, u.Origin, releaseOf(t, registry.source(), "1.4.2", key))
	path := registry.file(published.Builds[HostPlatform()])
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), len(good)), 0o644); err != nil {
		t.Fatal(err)
	}
	refused[*TamperedError](u, u.plain, published.Builds[HostPlatform()], "received   sha256:", "from "+registry.source())
	if err := os.WriteFile(path, good, 0o644); err != nil { // the advice: try again
		t.Fatal(err)
	}
	u.mustInstall()
}

func TestAMovedTagOfARegistryIsTold(t *testing.T) {
	t.Parallel()
	registry, key := startRegistry(t, ""), newKey(t)
	u := newUser(t, environment(t, map[string]string{}), registry.source(), "")
	u.Trusted = []PublicKey{key.Public()}
	first := publish(t, u.Origin, releaseOf(t, registry.source(), "1.4.2", key))
	u.mustInstall()
	second := publish(t, u.Origin, releaseOf(t, registry.source(), "1.4.2", key, func(r *Release) {
		r.Replace, r.Description = true, []byte(`{"name":"other","version":"1.4.2"}`)
	}))
	u.Platforms = []string{"plan9_mips"} // something is to be fetched
	if done := u.mustInstall(); done.Index != first.Index {
		t.Errorf("installed %s", done.Index)
	}
	if len(u.warnings) != 1 || !strings.Contains(u.warnings[0], first.Index) ||
		!strings.Contains(u.warnings[0], second.Index) {
		t.Errorf("warned %q", u.warnings)
	}
}

func TestAnotherKeyInARegistryIsRefused(t *testing.T) {
	t.Parallel()
	registry, key, other := startRegistry(t, ""), newKey(t), newKey(t)
	u := newUser(t, environment(t, map[string]string{}), registry.source(), "")
	u.Trusted = []PublicKey{key.Public()}
	publish(t, u.Origin, releaseOf(t, registry.source(), "1.4.2", key))
	u.mustInstall()
	u.Trusted = nil
	publish(t, u.Origin, releaseOf(t, registry.source(), "1.5.0", other))
	refused[*SignerError](u, u.update, string(key.Public()), string(other.Public()))
	u.Trusted = []PublicKey{other.Public()}
	if _, err := u.update(); err != nil {
		t.Errorf("after following the advice: %v", err)
	}
}

func TestAMissingBuildNamesThoseThatAreThere(t *testing.T) {
	t.Parallel()
	registry := startRegistry(t, "")
	u := newUser(t, environment(t, map[string]string{}), registry.source(), "")
	u.required.AllowUnsigned = true
	publish(t, u.Origin, releaseOf(t, registry.source(), "1.4.2", nil))
	u.Platforms = []string{"linux_riscv64"}
	says := []string{
		`plugin "example" 1.4.2 has no build for linux_riscv64`,
		"Builds: darwin_ppc, " + HostPlatform() + ", plan9_mips.",
	}
	refused[*NoBuildError](u, u.plain, says...)
	u.Platforms = nil
	u.mustInstall()
	u.Platforms = []string{"linux_riscv64"}
	if _, err := u.plain(); err == nil || !strings.Contains(err.Error(), says[0]) {
		t.Errorf("from the lock: %v", err)
	}
}

func TestANewerProtocolIsRefusedBeforeTheBinaryIsFetched(t *testing.T) {
	t.Parallel()
	registry := startRegistry(t, "")
	n := newNetwork(t, registry)
	u := newUser(t, environment(t, map[string]string{}), n.source(), "")
	u.required.AllowUnsigned = true
	publish(t, u.Origin, releaseOf(t, n.source(), "2.0.0", nil, func(r *Release) { r.Protocol = 2 }))
	publish(t, u.Origin, releaseOf(t, n.source(), "1.9.0", nil))
	n.mu.Lock()
	n.requests = nil
	n.mu.Unlock()
	refused[*NewerProtocolError](
		u,
		u.plain,
		"needs a newer forgeyard-fleet",
		"protocol 2, and this version 1",
		`version = "< 2.0.0"`,
	)
	if fetched := n.seen("/blobs/"); len(fetched) > 0 {
		t.Errorf("fetched %v", fetched)
	}
	u.required.Constraint = "< 2.0.0" // the advice
	if done := u.mustInstall(); done.Version != "1.9.0" {
		t.Errorf("installed %s", done.Version)
	}
}

func TestABrokenDownloadGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	registry := startRegistry(t, "")
	n := newNetwork(t, registry)
	u := newUser(t, environment(t, map[string]string{}), n.source(), "")
	u.required.AllowUnsigned = true
	r := releaseOf(t, n.source(), "1.4.2", nil)
	if err := os.WriteFile(r.Files[HostPlatform()], bytes.Repeat([]byte("0123456789abcdef"), 1<<16), 0o755); err != nil {
		t.Fatal(err)
	}
	published := publish(t, u.Origin, r)
	// The first blob is the description.
	n.mu.Lock()
	n.cut = []int64{0, 300_000, 0, 200_000}
	n.mu.Unlock()
	u.mustInstall()
	ranges := n.seen("bytes=")
	if len(ranges) == 0 || !strings.Contains(ranges[0], published.Builds[HostPlatform()]) {
		t.Errorf("asked for parts: %v", ranges)
	}
}

// A process ends in the middle, and the next one continues: across a registry that
// is down for good meanwhile.
func TestABrokenDownloadGoesOnInTheNextRun(t *testing.T) {
	t.Parallel()
	registry := startRegistry(t, "")
	n := newNetwork(t, registry)
	u := newUser(t, environment(t, map[string]string{}), n.source(), "")
	u.required.AllowUnsigned = true
	r := releaseOf(t, n.source(), "1.4.2", nil)
	if err := os.WriteFile(r.Files[HostPlatform()], bytes.Repeat([]byte("0123456789abcdef"), 1<<16), 0o755); err != nil {
		t.Fatal(err)
	}
	digest := publish(t, u.Origin, r).Builds[HostPlatform()]
	n.mu.Lock()
	n.cut = []int64{0, 300_000}
	passed := 0
	n.before = func(w http.ResponseWriter, request *http.Request) bool {
		if !strings.Contains(request.URL.Path, digest) {
			return false
		}
		passed++
		if passed == 1 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	n.mu.Unlock()
	if _, err := u.plain(); err == nil || !strings.Contains(err.Error(), "the command again: what was received is kept") {
		t.Fatalf("got %v", err)
	}
	n.mu.Lock()
	n.before = nil
	n.mu.Unlock()
	u.mustInstall()
	if u.began < 200_000 {
		t.Errorf("the next run began at %d bytes", u.began)
	}
}

func TestARegistryThatLetsNobodyInNamesTheCredentials(t *testing.T) {
	t.Parallel()
	registry, home := startRegistry(t, secured(t)), t.TempDir()
	u := newUser(t, environment(t, map[string]string{"HOME": home}), registry.source(), "")
	u.required.AllowUnsigned = true
	configuration := filepath.Join(home, ".docker", "config.json")
	refused[*AccessError](
		u,
		u.plain,
		registry.address+" refused access to acme/fleet-example (401)",
		configuration+", which isn't there",
		"docker login "+registry.address,
	)
	dockerLogin(t, home, "registry.example", "open sesame")
	refused[*AccessError](u, u.plain, configuration+", which has none for "+registry.address)
	dockerLogin(t, home, registry.address, "guessed")
	refused[*AccessError](u, u.plain, configuration+`, user "ci"`, "docker login "+registry.address)
	dockerLogin(t, home, registry.address, "open sesame") // the advice
	publish(t, u.Origin, releaseOf(t, registry.source(), "1.4.2", nil))
	u.mustInstall()
	if _, err := u.plain(); err != nil && strings.Contains(err.Error(), "sesame") {
		t.Errorf("it tells the password: %v", err)
	}
}

func TestARegistryThatIsDownIsTold(t *testing.T) {
	t.Parallel()
	registry := startRegistry(t, "")
	u := newUser(t, environment(t, map[string]string{}), registry.source(), "")
	u.required.AllowUnsigned = true
	publish(t, u.Origin, releaseOf(t, registry.source(), "1.4.2", nil))
	registry.stop()
	refused[*UnreachableError](u, u.plain, registry.address+" can't be reached", "no proxy was used", "--from DIR")
	registry.start()
	u.mustInstall()
}

func TestWhatARegistryDoesNotHaveIsNamed(t *testing.T) {
	t.Parallel()
	registry := startRegistry(t, "")
	u := newUser(t, environment(t, map[string]string{}), registry.source(), "")
	refused[*MissingError](u, u.plain, registry.address, "repository acme/fleet-example", "compare the source")
}

func TestPlainHTTPIsForThisMachineAlone(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1:5000": true, "127.8.8.8": true, "[::1]:80": true, "localhost": true, "localhost:80": true,
		"registry.example": false, "10.0.0.1:80": false, "localhost.example": false, "127.0.0.1.example": false,
	} {
		if got := isLoopback(host); got != want {
			t.Errorf("%s: %t", host, got)
		}
	}
}
