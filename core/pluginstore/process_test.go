package pluginstore

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The tests of this file start this test binary as another process that
// installs a plugin, waits in the middle where it is told to, and may be killed.

const (
	childStore  = "PLUGINSTORE_TEST_STORE"
	childSource = "PLUGINSTORE_TEST_SOURCE"
	childWaits  = "PLUGINSTORE_TEST_WAITS"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childStore); dir != "" {
		if err := installAsChild(dir, os.Getenv(childSource), os.Getenv(childWaits) != ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func installAsChild(dir, source string, waits bool) error {
	store, err := Open(dir)
	if err != nil {
		return err
	}
	store.copied = func() {
		if waits {
			fmt.Println("copied")
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		}
	}
	locked, err := store.InstallFromDir(context.Background(), source, "local", "", describeAsOne)
	if err != nil {
		return err
	}
	return store.Verify(locked)
}

func describeAsOne(context.Context, string) ([]byte, string, int, error) {
	return []byte("{}"), "1.0.0", 1, nil
}

func child(t *testing.T, dir, source string, waits bool) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self)
	command.Env = append(os.Environ(), childStore+"="+dir, childSource+"="+source)
	if waits {
		command.Env = append(command.Env, childWaits+"=1")
	}
	command.Stderr = os.Stderr
	return command
}

func sourceWithPlugin(t *testing.T, size int) string {
	t.Helper()
	source := t.TempDir()
	if err := os.WriteFile(filepath.Join(source, "forgeyard-plugin-local"), []byte(strings.Repeat("x", size)), 0o755); err != nil {
		t.Fatal(err)
	}
	return source
}

func matches(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestManyProcessesInstallAtOnce(t *testing.T) {
	dir, source := filepath.Join(t.TempDir(), "plugins"), sourceWithPlugin(t, 1<<20)
	var children []*exec.Cmd
	for range 6 {
		command := child(t, dir, source, false)
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, command)
	}
	for _, command := range children {
		if err := command.Wait(); err != nil {
			t.Error(err)
		}
	}
	if blobs, tmp := matches(t, dir, "blobs/sha256/*"), matches(t, dir, "tmp/*"); len(blobs) != 1 || len(tmp) != 0 {
		t.Errorf("blobs %v, tmp %v", blobs, tmp)
	}
}

func TestAKilledInstallLeavesOnlyWhatTheNextOneCleans(t *testing.T) {
	dir, source := filepath.Join(t.TempDir(), "plugins"), sourceWithPlugin(t, 1000)
	command := child(t, dir, source, true)
	input, err := command.StdinPipe() // held open, so that the child waits
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(output).ReadString('\n'); err != nil || line != "copied\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	store, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.removeAbandoned(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tmp := matches(t, dir, "tmp/blob-*"); len(tmp) != 1 {
		t.Fatalf("the copy of a living process must stay, tmp holds %v", tmp)
	}

	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	if blobs, tmp := matches(t, dir, "blobs/sha256/*"), matches(t, dir, "tmp/blob-*"); len(blobs) != 0 || len(tmp) != 1 {
		t.Fatalf("after the kill: blobs %v, tmp %v", blobs, tmp)
	}
	if _, err := store.InstallFromDir(t.Context(), source, "local", "", describeAsOne); err != nil {
		t.Fatal(err)
	}
	if blobs, tmp := matches(t, dir, "blobs/sha256/*"), matches(t, dir, "tmp/*"); len(blobs) != 1 || len(tmp) != 0 {
		t.Errorf("after the next install: blobs %v, tmp %v", blobs, tmp)
	}
}
