//go:build linux

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// refused insists that apply ends with 1, says every one of the texts, makes no
// host, and stores neither definition nor operation.
func (w *workspace) refused(texts ...string) {
	w.t.Helper()
	before := map[string]string{}
	if _, err := os.Stat(w.path("state/fleet.db")); err == nil {
		before = w.stored()
	}
	hosts := w.hostEntries()
	r := w.apply(1)
	for _, text := range texts {
		if !strings.Contains(r.err, text) {
			w.t.Errorf("the error doesn't say %q:\n%s", text, r.err)
		}
	}
	if after := len(w.hostEntries()); after != len(hosts) {
		w.t.Errorf("there were %d hosts and are %d", len(hosts), after)
	}
	if _, err := os.Stat(w.path("state/fleet.db")); err != nil {
		return
	}
	if after := w.stored(); len(after) != len(before) {
		w.t.Errorf("something was stored:\nbefore %v\nafter  %v", before, after)
	}
}

func TestABrokenFileIsToldByItsPlace(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	good := definition{min: 1, max: 1}.String()
	w.write(good)
	w.install()
	for name, bad := range map[string]struct{ old, new, at, says string }{
		"a word that isn't known":   {`trust        =`, `thrust       =`, "thrust", `"thrust"`},
		"text without an end":       {`os   = "linux"`, `os   = "linux`, "\n    arch =", "doesn't end on its line"},
		"a block that is not there": {`provider.local.here`, `provider.local.there`, "provider.local.there", "local.there"},
		"what the plugin checks":    {"instance {\n", "instance {\n    nice = 99\n", "nice = 99", "nice is from 0 to 19"},
	} {
		text := strings.Replace(good, bad.old, bad.new, 1)
		place := placeOf(text, bad.at)
		if text == good {
			t.Fatalf("%s: the file has no %q", name, bad.old)
		}
		w.write(text)
		w.refused("Error: ", bad.says, place)
		for _, command := range []string{"plan", "validate"} {
			if command == "validate" && name == "what the plugin checks" {
				continue // no plugin is started for it
			}
			if r := w.fleet(1, command); !strings.Contains(r.err, place) || r.out != "" {
				t.Errorf("%s: %s says:\n%s%s", name, command, r.out, r.err)
			}
		}
	}
	w.shouldBeEmpty()
}

// placeOf is where a piece of the fleet file is, as diagnostics say it.
func placeOf(text, piece string) string {
	before := text[:strings.Index(text, piece)]
	line := strings.Count(before, "\n") + 1
	column := len(before) - strings.LastIndex(before, "\n")
	return "on fleet.hcl:" + itoa(line) + ":" + itoa(column)
}

func TestAPluginThatIsNotInstalledIsNamedWithTheCommand(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 1}.String())
	w.refused(`"local"`, "forgeyard-fleet plugin install")
	w.install() // the advice works
	w.apply(0)
	w.shouldHave(1)
}

func TestAChangedLockFileIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 1}.String())
	w.install()
	lock := w.path("fleet/fleet.lock.hcl")
	good := w.read("fleet/fleet.lock.hcl")
	digest := regexp.MustCompile(`sha256:[0-9a-f]{64}`)
	for name, text := range map[string]string{
		"another digest": digest.ReplaceAllString(good, "sha256:"+strings.Repeat("0", 64)),
		"half a digest":  digest.ReplaceAllString(good, "sha256:0123"),
		"not HCL":        good + "\n}",
		"empty":          "",
	} {
		if err := os.WriteFile(lock, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		w.refused("plugin install")
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	w.install()
	w.apply(0)
	w.shouldHave(1)
}

func TestAChangedPluginIsNeverStarted(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 1}.String())
	w.install()
	digest := regexp.MustCompile(`linux_[a-z0-9]+ += "sha256:([0-9a-f]{64})"`).FindStringSubmatch(
		w.read("fleet/fleet.lock.hcl"))[1]
	var blob string
	err := filepath.WalkDir(w.plugins, func(path string, _ os.DirEntry, err error) error {
		if filepath.Base(path) == digest {
			blob = path
		}
		return err
	})
	if err != nil || blob == "" {
		t.Fatalf("the plugin %s isn't in the store: %v", digest, err)
	}
	started := w.path("started")
	script := "#!/bin/sh\ntouch " + started + "\n"
	if err := os.Remove(blob); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(blob, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	w.refused("sha256:"+digest, "plugin install")
	if _, err := os.Stat(started); err == nil {
		t.Error("the changed file was started")
	}
	w.install()
	w.apply(0)
	w.shouldHave(1)
}

func TestATakenPortIsToldBeforeAnythingIsStored(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 1, forgeyard: "manager {\n    listen = \"" + address + "\"\n  }\n"}.String())
	w.install()
	w.refused(address, "in use", "manager { listen }")
	w.shouldBeEmpty()
}

func TestAStateDirectoryBelongsToOneInstallation(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 1}.String())
	w.install()
	w.apply(0)
	w.write(definition{min: 3, max: 3, installation: "another"}.String())
	w.refused(`"e2e"`, `"another"`, "--state")
	w.write(definition{min: 1, max: 1}.String())
	w.apply(0)
	w.shouldHave(1)
}

func TestALostKeyIsNoticedBeforeAnythingIsSigned(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"authority.pem", "enrollment.key"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.write(definition{min: 1, max: 2}.String())
			w.install()
			w.apply(0)
			key, aside := w.path("state/keys/"+name), w.path("aside")
			if err := os.Rename(key, aside); err != nil {
				entries, _ := os.ReadDir(w.path("state/keys"))
				t.Fatalf("%v; there are %v", err, entries)
			}
			w.write(definition{min: 2, max: 2}.String())
			w.refused("key")
			// A refusal that leaves a new key behind would be believed the next time.
			w.refused("key")
			if err := os.Rename(aside, key); err != nil {
				t.Fatal(err)
			}
			w.apply(0)
			w.shouldHave(2)
		})
	}
}

func TestASecondApplyIsToldWhoHoldsTheLock(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	gate := w.path("gate")
	w.write(definition{min: 1, max: 1, command: "until [ -e " + gate + " ]; do sleep 0.05; done"}.String())
	w.install()
	w.apply(0)
	w.write(definition{removed: true}.String())
	first := w.start("apply", "--auto-approve")
	first.mustSay("→ draining") // and waits for the job

	before := w.stored()
	r := w.apply(1)
	for _, text := range []string{w.state, "process " + itoa(first.cmd.Process.Pid), "forgeyard-fleet apply"} {
		if !strings.Contains(r.err, text) {
			t.Errorf("the second apply doesn't say %q:\n%s", text, r.err)
		}
	}
	if after := w.stored(); len(after) != len(before) {
		t.Errorf("the second apply stored something")
	}
	// Who looks needs no lock.
	if r := w.fleet(
		0,
		"status",
	); !strings.Contains(r.out, "draining 1") ||
		!strings.Contains(r.out, "process "+itoa(first.cmd.Process.Pid)) {
		t.Errorf("status says:\n%s", r.out)
	}
	w.fleet(0, "list")
	w.fleet(0, "plan")
	w.fleet(0, "instance", "show", w.instances()[0].ID)

	touch(t, gate)
	if r := first.wait(); r.code != 0 {
		t.Errorf("the first apply ended with %d:\n%s%s", r.code, r.out, r.err)
	}
	w.shouldBeEmpty()
}
