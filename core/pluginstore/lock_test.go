package pluginstore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
)

var (
	digestA = "sha256:" + strings.Repeat("a", 64)
	digestB = "sha256:" + strings.Repeat("b", 64)
)

func twoPlugins() pluginstore.Lock {
	return pluginstore.Lock{}.With(pluginstore.LockedPlugin{
		Name: "local", Source: pluginstore.SourceDev, Version: "0.1.0", Constraint: ">= 0.1, < 2", Protocol: 1,
		Binaries: map[string]string{"linux_amd64": digestA},
	}).With(pluginstore.LockedPlugin{
		Name: "aws", Source: "registry.example/forgeyard/fleet-aws", Version: "1.4.2", Constraint: "~> 1.4", Protocol: 1,
		Index: digestB, Signer: "ed25519:" + strings.Repeat("A", 43) + "=",
		Binaries: map[string]string{"linux_arm64": digestB, "darwin_arm64": digestA},
	})
}

func TestTheLockHasOneForm(t *testing.T) {
	want := `# Written by "forgeyard-fleet plugin install". Commit this file; do not edit it.

plugin "aws" {
  source     = "registry.example/forgeyard/fleet-aws"
  version    = "1.4.2"
  constraint = "~> 1.4"
  protocol   = 1
  index      = "` + digestB + `"
  signer     = "ed25519:` + strings.Repeat("A", 43) + `="
  binaries = {
    darwin_arm64 = "` + digestA + `"
    linux_arm64  = "` + digestB + `"
  }
}

plugin "local" {
  source     = "dev"
  version    = "0.1.0"
  constraint = ">= 0.1, < 2"
  protocol   = 1
  index      = ""
  signer     = ""
  binaries = {
    linux_amd64 = "` + digestA + `"
  }
}
`
	if difference := cmp.Diff(want, string(twoPlugins().Bytes())); difference != "" {
		t.Errorf("(-want +got):\n%s", difference)
	}
}

func TestALockIsReadBackAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), pluginstore.LockFileName)
	if empty, err := pluginstore.ReadLock(path); err != nil || len(empty.Plugins) != 0 {
		t.Errorf("a missing lock is an empty one, got %+v, %v", empty, err)
	}
	for _, lock := range []pluginstore.Lock{{}, twoPlugins()} {
		if err := pluginstore.WriteLock(path, lock); err != nil {
			t.Fatal(err)
		}
		got, err := pluginstore.ReadLock(path)
		if err != nil {
			t.Fatal(err)
		}
		if difference := cmp.Diff(lock, got); difference != "" {
			t.Error(difference)
		}
		if got.Digest() != lock.Digest() {
			t.Error("the digest changed on the way")
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestTheSameLockIsNotWrittenAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), pluginstore.LockFileName)
	if err := pluginstore.WriteLock(path, twoPlugins()); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := pluginstore.WriteLock(path, twoPlugins()); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced, %v", err)
	}
}

func TestALockThatCannotBeReadBackIsNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), pluginstore.LockFileName)
	good, _ := twoPlugins().Plugin("local")
	for name, change := range map[string]func(*pluginstore.LockedPlugin){
		"a name":       func(p *pluginstore.LockedPlugin) { p.Name = "No Name" },
		"a source":     func(p *pluginstore.LockedPlugin) { p.Source = "a\"b" },
		"no source":    func(p *pluginstore.LockedPlugin) { p.Source = "" },
		"a version":    func(p *pluginstore.LockedPlugin) { p.Version = "newest" },
		"a constraint": func(p *pluginstore.LockedPlugin) { p.Constraint = "${x}" },
		"a protocol":   func(p *pluginstore.LockedPlugin) { p.Protocol = 0 },
		"an index":     func(p *pluginstore.LockedPlugin) { p.Index = "sha256:1" },
		"a signer":     func(p *pluginstore.LockedPlugin) { p.Signer = "a\nb" },
		"no binaries":  func(p *pluginstore.LockedPlugin) { p.Binaries = nil },
		"a platform":   func(p *pluginstore.LockedPlugin) { p.Binaries = map[string]string{"linux-amd64": digestA} },
		"a path as hex": func(p *pluginstore.LockedPlugin) {
			p.Binaries = map[string]string{"linux_amd64": "sha256:../../etc"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			change(&bad)
			if err := pluginstore.WriteLock(path, pluginstore.Lock{Plugins: []pluginstore.LockedPlugin{bad}}); err == nil {
				t.Error("it was written")
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("a file was left")
			}
		})
	}
}

// Each edit is refused with the line and advice, and the advice works.
func TestAnEditedLockIsRefused(t *testing.T) {
	good := string(twoPlugins().Bytes())
	second, _, _ := strings.Cut(good[strings.Index(good, "plugin \"local\""):], "\x00")
	for name, text := range map[string]string{
		"an empty file":        "",
		"no header":            strings.TrimPrefix(good, "#"),
		"another comment":      strings.Replace(good, "plugin \"aws\"", "# mine\nplugin \"aws\"", 1),
		"other spaces":         strings.Replace(good, "version    =", "version =", 1),
		"another order":        strings.Replace(good, "plugin \"aws\"", "plugin \"zzz\"", 1),
		"a plugin twice":       good + "\n" + second,
		"attributes swapped":   strings.Replace(good, "  protocol   = 1\n", "", 1),
		"an unknown attribute": strings.Replace(good, "protocol  ", "protocole ", 1),
		"a digest cut short":   strings.Replace(good, digestA, digestA[:20], 1),
		"a number as text":     strings.Replace(good, "protocol   = 1", "protocol   = \"1\"", 1),
		"an expression":        strings.Replace(good, `"0.1.0"`, `"${x}"`, 1),
		"cut off":              good[:len(good)-30],
		"no newline at end":    strings.TrimSuffix(good, "\n"),
		"a line too many":      good + "\n",
		"Windows line ends":    strings.ReplaceAll(good, "\n", "\r\n"),
		"a merge conflict":     strings.Replace(good, "  version", "<<<<<<< HEAD\n  version", 1),
		"deep nesting":         good + strings.Repeat("[", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), pluginstore.LockFileName)
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := pluginstore.ReadLock(path)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range []string{"forgeyard-fleet plugin install", path} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %q", want, err)
				}
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := pluginstore.WriteLock(path, twoPlugins()); err != nil {
				t.Errorf("after following the advice: %v", err)
			}
		})
	}
}

func TestOnlyKeepsWhatIsRequired(t *testing.T) {
	got := twoPlugins().Only([]string{"local", "other"})
	if len(got.Plugins) != 1 || got.Plugins[0].Name != "local" {
		t.Errorf("got %+v", got)
	}
}

// FuzzParseLock looks for text that panics the parser, or that it accepts
// although it isn't the normal form.
func FuzzParseLock(f *testing.F) {
	f.Add([]byte{})
	f.Add(pluginstore.Lock{}.Bytes())
	f.Add(twoPlugins().Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		lock, err := pluginstore.ParseLock(text)
		if err != nil {
			return
		}
		if difference := cmp.Diff(string(text), string(lock.Bytes())); difference != "" {
			t.Fatalf("accepted another form than its own:\n%s", difference)
		}
		for _, plugin := range lock.Plugins {
			if err := plugin.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
