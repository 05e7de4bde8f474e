package pluginstore_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
)

// writePlugin puts a plugin file into a directory.
func writePlugin(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, "forgeyard-plugin-"+name)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func openStore(t testing.TB) (*pluginstore.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plugins")
	store, err := pluginstore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return store, dir
}

// version is a Describe whose plugin is of one version.
func version(text string) pluginstore.Describe {
	return func(context.Context, string, string) ([]byte, string, int, error) {
		return []byte(`{"name":"x"}`), text, 1, nil
	}
}

// files are all regular files below a folder but locks, by relative path.
func files(t testing.TB, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && filepath.Ext(path) != ".lock" {
			relative, _ := filepath.Rel(dir, path)
			found = append(found, filepath.ToSlash(relative))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAPluginFromADirectoryIsStoredLockedAndFound(t *testing.T) {
	source := t.TempDir()
	writePlugin(t, source, "local", "the binary")
	store, dir := openStore(t)
	digest := fleet.DigestBytes([]byte("the binary"))
	blob := filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
	if runtime.GOOS == "windows" {
		blob += ".exe"
	}

	described := ""
	locked, err := store.InstallBuild(
		t.Context(),
		source,
		"local",
		"~> 0.1",
		func(_ context.Context, path, _ string) ([]byte, string, int, error) {
			described = path
			return []byte(`{"name":"local"}`), "0.1.7", 1, nil
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := pluginstore.LockedPlugin{
		Name: "local", Source: pluginstore.SourceDev, Version: "0.1.7", Constraint: "~> 0.1", Protocol: 1,
		Binaries: map[string]string{pluginstore.HostPlatform(): digest},
	}
	if difference := cmp.Diff(want, locked); difference != "" {
		t.Error(difference)
	}
	if described != blob {
		t.Errorf("described %s, and not the stored copy %s", described, blob)
	}
	path, found, err := store.Binary(locked, pluginstore.HostPlatform())
	if err != nil || path != blob || found != digest {
		t.Errorf("found %s %s %v", path, found, err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o555 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if text, err := store.Info(digest); err != nil || string(text) != `{"name":"local"}` {
		t.Errorf("info %s, %v", text, err)
	}
	if err := store.Verify(locked); err != nil {
		t.Error(err)
	}
	if got := files(t, filepath.Join(dir, "tmp")); len(got) != 0 {
		t.Errorf("tmp holds %v", got)
	}
}

func TestWhatCannotBeInstalled(t *testing.T) {
	source := t.TempDir()
	writePlugin(t, source, "local", "the binary")
	writePlugin(t, source, "aws", "another")
	if err := os.Mkdir(filepath.Join(source, "forgeyard-plugin-folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(source, "forgeyard-plugin-plain"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := func(context.Context, string, string) ([]byte, string, int, error) {
		return nil, "", 0, errors.New("it ended with exit status 2")
	}
	for title, one := range map[string]struct {
		dir, name, constraint string
		describe              pluginstore.Describe
		want                  []string
	}{
		"a name nearly right": {source, "locla", "", version("1.0.0"), []string{`did you mean "local"?`}},
		"a name far off":      {source, "kubernetes", "", version("1.0.0"), []string{"the directory has: aws,", "local"}},
		"no name at all":      {source, "../local", "", version("1.0.0"), []string{"name"}},
		"an empty directory":  {t.TempDir(), "local", "", version("1.0.0"), []string{"no plugin at all", "--dev"}},
		"a folder":            {source, "folder", "", version("1.0.0"), []string{"not a regular file"}},
		"not executable":      {source, "plain", "", version("1.0.0"), []string{"chmod +x"}},
		"a version outside": {source, "local", "~> 0.1", version("1.2.0"),
			[]string{"1.2.0", `"~> 0.1"`, "required_plugins"}},
		"a prerelease": {source, "local", "~> 0.1", version("0.1.5-dev"),
			[]string{"prerelease", `">= 0.1.5-dev"`}},
		"no version":              {source, "local", "", version("latest"), []string{`"latest"`}},
		"a broken constraint":     {source, "local", "about 1", version("1.0.0"), []string{"invalid version constraint"}},
		"one that can't be asked": {source, "local", "", broken, []string{"ask it what it is", "exit status 2"}},
		"a description that is not": {source, "local", "",
			func(context.Context, string, string) ([]byte, string, int, error) {
				return []byte("{"), "1.0.0", 1, nil
			}, []string{"not valid JSON"}},
	} {
		t.Run(title, func(t *testing.T) {
			if title == "not executable" && runtime.GOOS == "windows" {
				t.Skip("Windows has no such mode")
			}
			store, dir := openStore(t)
			_, err := store.InstallBuild(t.Context(), one.dir, one.name, one.constraint, one.describe)
			if err == nil {
				t.Fatal("installed")
			}
			for _, want := range append(one.want, one.name) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %q", want, err)
				}
			}
			if got := files(t, filepath.Join(dir, "tmp")); len(got) != 0 {
				t.Errorf("tmp holds %v", got)
			}
		})
	}
}

func TestTheAdvicePrereleaseConstraintWorks(t *testing.T) {
	source := t.TempDir()
	writePlugin(t, source, "local", "the binary")
	store, _ := openStore(t)
	if _, err := store.InstallBuild(t.Context(), source, "local", ">= 0.1.5-dev", version("0.1.5-dev")); err != nil {
		t.Error(err)
	}
}

func TestAMissingPluginNamesTheCommand(t *testing.T) {
	store, _ := openStore(t)
	locked, _ := twoPlugins().Plugin("local")
	_, _, err := store.Binary(locked, "linux_amd64")
	missing := &pluginstore.NotInstalledError{}
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "forgeyard-fleet plugin install --dev FOLDER") {
		t.Errorf("got %v", err)
	}
	_, _, err = store.Binary(locked, "linux_riscv64")
	if err == nil || !strings.Contains(err.Error(), "linux_amd64") {
		t.Errorf("got %v", err)
	}
	if _, err := store.Info(digestA); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := store.Info("sha256:../../x"); err == nil {
		t.Error("a digest became a path")
	}
}

func TestADamagedBinaryIsFoundAndInstallMendsIt(t *testing.T) {
	source := t.TempDir()
	writePlugin(t, source, "local", "the binary")
	store, dir := openStore(t)
	locked, err := store.InstallBuild(t.Context(), source, "local", "", version("1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	path, _, err := store.Binary(locked, pluginstore.HostPlatform())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("malware"), 0o755); err != nil {
		t.Fatal(err)
	}
	err = store.Verify(locked)
	damaged := &pluginstore.DamagedError{}
	if !errors.As(err, &damaged) || damaged.Found != fleet.DigestBytes([]byte("malware")) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{path, damaged.Found, damaged.Locked, "forgeyard-fleet plugin install --dev FOLDER"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if _, err := store.InstallBuild(t.Context(), source, "local", "", version("1.0.0")); err != nil {
		t.Fatal(err)
	}
	if err := store.Verify(locked); err != nil {
		t.Errorf("after following the advice: %v", err)
	}
	if got := files(t, filepath.Join(dir, "tmp")); len(got) != 0 {
		t.Errorf("tmp holds %v", got)
	}
}

func TestAGoodBlobIsNeverWrittenAgain(t *testing.T) {
	source := t.TempDir()
	writePlugin(t, source, "local", "the binary")
	store, _ := openStore(t)
	var seen []os.FileInfo
	for range 2 {
		locked, err := store.InstallBuild(t.Context(), source, "local", "", version("1.0.0"))
		if err != nil {
			t.Fatal(err)
		}
		path, _, err := store.Binary(locked, pluginstore.HostPlatform())
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, info)
	}
	if !os.SameFile(seen[0], seen[1]) {
		t.Error("the blob was replaced while a process runs it")
	}
}

func TestACancelledInstallLeavesNothing(t *testing.T) {
	source := t.TempDir()
	writePlugin(t, source, "local", "the binary")
	store, dir := openStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.InstallBuild(ctx, source, "local", "", version("1.0.0")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("the store holds %v", got)
	}
}

func BenchmarkInstallTwentyMegabytes(b *testing.B) {
	source := b.TempDir()
	writePlugin(b, source, "large", strings.Repeat("x", 20<<20))
	store, _ := openStore(b)
	for b.Loop() {
		if _, err := store.InstallBuild(b.Context(), source, "large", "", version("1.0.0")); err != nil {
			b.Fatal(err)
		}
	}
}
