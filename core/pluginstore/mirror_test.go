package pluginstore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAMirrorStandsInForTheRegistry(t *testing.T) {
	t.Parallel()
	registry, key := startRegistry(t, ""), newKey(t)
	original := Origin{Layout: filepath.Join(t.TempDir(), "original")}
	publish(t, original, releaseOf(t, example, "1.4.2", key))
	author := newUser(t, original, example, "")
	author.Trusted = []PublicKey{key.Public()}
	locked := author.mustInstall().LockedPlugin

	folder := filepath.Join(t.TempDir(), "mirror")
	online := environment(t, map[string]string{})
	author.Origin.Registry = online.Registry
	if err := author.Mirror(t.Context(), locked, Destination{Layout: folder}, []string{HostPlatform()}); err != nil {
		t.Fatal(err)
	}
	if err := author.Mirror(t.Context(), locked, Destination{Prefix: registry.address + "/copies"}, nil); err != nil {
		t.Fatal(err)
	}
	for name, mirror := range map[string]Mirror{
		"a folder":   {Prefix: "registry.example/", To: "dir:" + folder},
		"a registry": {Prefix: "registry.example/", To: registry.address + "/copies/"},
	} {
		u := newUser(t, Origin{Registry: online.Registry, Mirrors: []Mirror{mirror}}, example, "")
		u.lock = author.lock
		if _, err := u.install(true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if string(u.lock.Bytes()) != string(author.lock.Bytes()) {
			t.Errorf("%s: the lock is another:\n%s", name, u.lock.Bytes())
		}
		fresh := newUser(t, u.Origin, example, "")
		fresh.Trusted = []PublicKey{key.Public()}
		fresh.mustInstall()
	}
	// The folder has only this machine's build, and says so.
	u := newUser(t, Origin{Layout: folder}, example, "")
	u.lock, u.Platforms = author.lock, []string{"plan9_mips"}
	if _, err := u.install(true); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("got %v", err)
	}
	if err := author.Mirror(
		t.Context(),
		locked,
		Destination{Layout: folder},
		[]string{"linux_riscv64"},
	); err == nil ||
		!strings.Contains(err.Error(), "has no build") {
		t.Errorf("got %v", err)
	}
}

func TestAMirrorFallsBackOnlyWhereItIsToldTo(t *testing.T) {
	t.Parallel()
	registry := startRegistry(t, "")
	origin := environment(t, map[string]string{})
	publish(t, origin, releaseOf(t, registry.source(), "1.4.2", nil))
	origin.Mirrors = []Mirror{{Prefix: registry.address + "/", To: registry.address + "/nothing/"}}
	u := newUser(t, origin, registry.source(), "")
	u.required.AllowUnsigned = true
	refused[*MissingError](u, u.plain, "nothing/acme/fleet-example")
	u.Origin.Mirrors[0].Fallback = true
	u.mustInstall()
}

func TestTheConfigurationOfMirrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.hcl")
	if mirrors, err := ReadMirrors(path); err != nil || len(mirrors) != 0 {
		t.Errorf("without a file: %v, %v", mirrors, err)
	}
	for text, says := range map[string]string{
		"mirror {\n prefix = \"ghcr.io/\"\n to = \"registry.example/ghcr/\"\n}\nmirror {\n prefix = \"a.example/\"\n to = " +
			"\"dir:/srv/plugins\"\n fallback = true\n}": "",
		"mirror {\n prefix = \"ghcr.io/\"\n}":                                     "to",
		"mirror {\n prefix = \"ghcr.io/\"\n to = \"registry.example/ghcr\"\n}":    "ends in /",
		"mirror {\n prefix = \"ghcr.io/\"\n to = \"dir:plugins\"\n}":              "absolute",
		"mirror {\n prefix = \"https://x\"\n to = \"registry.example/\"\n}":       "begins no source",
		"mirror {\n prefix = \"ghcr.io/\"\n to = \"http://registry.example/\"\n}": "dir:/FOLDER",
		"mirrors {}": "mirrors",
		"mirror {":   "config.hcl",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		mirrors, err := ReadMirrors(path)
		if says == "" && (err != nil || len(mirrors) != 2 || !mirrors[1].Fallback) ||
			says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s\n%v, %v", text, mirrors, err)
		}
	}
}
