//go:build linux

package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// strangersPlugin builds the example plugin as its author would who has nothing
// of this repository but the SDK, and gives the binary.
func strangersPlugin(w *workspace) string {
	w.t.Helper()
	source, built := w.path("source"), w.path("built/forgeyard-plugin-process")
	if err := os.CopyFS(source, os.DirFS("../../examples/plugin-process")); err != nil {
		w.t.Fatal(err)
	}
	sdk, err := filepath.Abs("../../plugin-sdk")
	if err != nil {
		w.t.Fatal(err)
	}
	mod := strings.Replace(w.read("source/go.mod"), "=> ../../plugin-sdk", "=> "+sdk, 1)
	if err := os.WriteFile(filepath.Join(source, "go.mod"), []byte(mod), 0o644); err != nil {
		w.t.Fatal(err)
	}
	if err := build(source, ".", built); err != nil {
		w.t.Fatal(err)
	}
	return built
}

// ofStranger is a fleet file that uses that plugin. Its provider block wants the
// agent's binary named.
func ofStranger(d definition, source string) string {
	return strings.NewReplacer(
		`local = { source = "ghcr.io/forgeyard/fleet-local"`,
		`process = { source = "`+source+`"`,
		`provider "local" "here" {`,
		`provider "process" "here" {`+"\n  runner = \""+filepath.Join(bin, "forgeyard-runner")+`"`,
		"provider.local.here",
		"provider.process.here",
	).Replace(d.String())
}

// The author's own build is used for a fleet's whole life.
func TestAStrangersPlugin(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	built := strangersPlugin(w)
	of := func(d definition) string { return ofStranger(d, "registry.example/acme/fleet-process") }
	w.write(of(definition{min: 2, max: 3}))
	w.fleet(0, "plugin", "install", "--dev", filepath.Dir(built))
	if r := w.fleet(0, "plan"); !strings.Contains(r.out+r.err, "own build") {
		t.Errorf("the plan doesn't warn of an unsigned build:\n%s%s", r.out, r.err)
	}
	w.apply(0)
	w.shouldHave(2)
	w.write(of(definition{min: 3, max: 3, instance: `shell = "/bin/bash"`})) // immutable
	w.apply(0)
	w.shouldHave(3)
	w.write(of(definition{removed: true}))
	w.apply(0)
	w.shouldBeEmpty()
}

// A third party publishes a plugin to a registry; somebody else, who has nothing of
// it but the source and the key, installs it from another folder and uses it.
func TestAStrangersPluginIsPublishedInstalledElsewhereAndUsed(t *testing.T) {
	t.Parallel()
	author, w := newWorkspace(t), newWorkspace(t)
	registry := startRegistry(author)
	built, source := strangersPlugin(author), registry+"/acme/fleet-process"
	key := strings.TrimSpace(author.fleet(0, "plugin", "keygen", "signing.key").out)
	if r := author.fleet(
		0,
		"plugin",
		"publish",
		source+":0.1.0",
		built,
		"--key",
		"signing.key",
	); !strings.Contains(
		r.out,
		"signed by "+key,
	) {
		t.Errorf("publish says\n%s", r.out)
	}
	if hidden := strings.Split(author.read("fleet/signing.key"), "\n")[1]; strings.Contains(
		author.fleet(0, "plugin", "publish", source, built, "--key", "signing.key").out,
		hidden,
	) {
		t.Error("the secret half of the key is shown")
	}

	w.write(ofStranger(definition{min: 1, max: 2}, source))
	if r := w.apply(1); !strings.Contains(r.err, "forgeyard-fleet plugin install") {
		t.Errorf("apply without the plugin says\n%s", r.err)
	}
	if r := w.fleet(1, "plugin", "install"); !strings.Contains(r.err, "--trust-key "+key) {
		t.Errorf("install without a key says\n%s", r.err)
	}
	w.fleet(0, "plugin", "install", "--trust-key", key)
	w.fleet(0, "plugin", "install", "--locked")
	w.fleet(0, "plugin", "verify")
	if r := w.fleet(
		0,
		"plugin",
		"list",
	); !strings.Contains(r.out, "process 0.1.0   "+source+"   signed ") ||
		!strings.Contains(r.out, "in store") {
		t.Errorf("list says\n%s", r.out)
	}
	if r := w.fleet(
		0,
		"plugin",
		"show",
		"process",
	); !strings.Contains(r.out, key) ||
		!strings.Contains(r.out, "SHELL in the agent's environment.") {
		t.Errorf("show says\n%s", r.out)
	}
	w.apply(0)
	w.shouldHave(1)
	w.write(ofStranger(definition{removed: true}, source))
	w.apply(0)
	w.shouldBeEmpty()
}

// The first plugin of an author, as plugin new writes it, comes all the way: it is
// published, installed from another folder and used. It makes files and no hosts,
// so what is made waits for an agent that never comes.
func TestGeneratedPluginIsPublishedInstalledAndUsed(t *testing.T) {
	t.Parallel()
	author, w := newWorkspace(t), newWorkspace(t)
	source := startRegistry(author) + "/acme/fleet-acme"
	author.runIn(author.dir, filepath.Join(author.bin, "forgeyard-fleet"), "plugin", "new", "acme", "--sdk", sdkFolder(t))
	folder := filepath.Join(author.dir, "forgeyard-plugin-acme")
	author.runIn(folder, "go", "build", "-o", "bin/forgeyard-plugin-acme", ".")
	key := strings.TrimSpace(author.fleet(0, "plugin", "keygen", "signing.key").out)
	author.fleet(
		0,
		"plugin",
		"publish",
		source+":0.1.0",
		filepath.Join(folder, "bin/forgeyard-plugin-acme"),
		"--key",
		"signing.key",
	)

	of := func(d definition) string {
		return strings.NewReplacer(`local = { source = "ghcr.io/forgeyard/fleet-local"`, `acme = { source = "`+source+`"`,
			`provider "local"`, `provider "acme"`, "provider.local.here", "provider.acme.here").Replace(d.String())
	}
	w.write(of(definition{min: 2, max: 2, instance: "size = 3"}))
	w.fleet(0, "plugin", "install", "--trust-key", key)
	w.apply(3, "--wait", "3s")
	if made, err := filepath.Glob(filepath.Join(w.hosts, "*.json")); err != nil || len(made) != 2 {
		t.Errorf("it made %q, %v; want two instances", made, err)
	}
	w.write(of(definition{removed: true}))
	w.apply(0)
	if left, err := os.ReadDir(w.hosts); err != nil || len(left) != 0 {
		t.Errorf("of its infrastructure %v is left, %v", left, err)
	}
}

// startRegistry starts Debian's docker-registry for the workspace and gives its
// address.
func startRegistry(w *workspace) string {
	w.t.Helper()
	if _, err := exec.LookPath("docker-registry"); err != nil {
		if os.Getenv("CI") != "" {
			w.t.Fatal("docker-registry is missing; make deps installs it")
		}
		w.t.Skip("docker-registry is missing (Debian: apt-get install docker-registry)")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		w.t.Fatal(err)
	}
	text := "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: " + w.path(
		"registry",
	) + "\nhttp:\n  addr: " + address + "\n"
	if err := os.WriteFile(w.path("registry.yml"), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.begin(exec.Command("docker-registry", "serve", w.path("registry.yml")), nil, "by docker-registry")
	eventually(w.t, "reach docker-registry", func() bool {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			connection.Close()
		}
		return err == nil
	})
	return address
}
