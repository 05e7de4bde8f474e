package pluginstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The tests of this file start this test binary as another process that
// installs a plugin from a layout, waits in the middle where it is told to, and
// may be killed.

const (
	childStore  = "PLUGINSTORE_TEST_STORE"
	childLayout = "PLUGINSTORE_TEST_LAYOUT"
	childWaits  = "PLUGINSTORE_TEST_WAITS"
	childLimit  = "PLUGINSTORE_TEST_LIMIT"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childStore); dir != "" {
		if err := installAsChild(dir, os.Getenv(childLayout), os.Getenv(childWaits) != ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func installAsChild(dir, layout string, waits bool) error {
	if limit, err := strconv.ParseUint(os.Getenv(childLimit), 10, 64); err == nil {
		if err := limitFiles(limit); err != nil {
			return err
		}
	}
	store, err := Open(dir)
	if err != nil {
		return err
	}
	i := Installer{
		Store: store, Origin: Origin{Layout: layout}, Protocol: 1, Now: time.Now(), Check: versionIn, Warn: func(string) {},
		Progress: func(Progress) {
			if waits {
				fmt.Println("received")
				_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
			}
		},
	}
	done, err := i.Install(
		context.Background(),
		Required{Name: "example", Source: example, AllowUnsigned: true},
		Lock{},
		false,
	)
	if err != nil {
		return err
	}
	return store.Verify(done.LockedPlugin)
}

func child(t *testing.T, dir, layout, waits string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self)
	command.Env = append(os.Environ(), childStore+"="+dir, childLayout+"="+layout, childWaits+"="+waits)
	return command
}

func matches(t testing.TB, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// rounds is how often what is concurrent is tried: often where the race detector
// looks.
func rounds() int {
	if raceDetector {
		return 20
	}
	return 3
}

// Two managers share one store and install at once, again and again.
func TestTwoProcessesInstallAtOnce(t *testing.T) {
	origin := layoutOf(t)
	publish(t, origin, releaseOf(t, example, "1.4.2", nil))
	for range rounds() {
		dir := filepath.Join(t.TempDir(), "plugins")
		var children []*exec.Cmd
		for range 2 {
			command := child(t, dir, origin.Layout, "")
			command.Stderr = os.Stderr
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
}

// One process with many installs at once, for the race detector: of two versions
// into one store.
func TestManyInstallsAtOnceGiveOneBlobEach(t *testing.T) {
	origin := layoutOf(t)
	publish(t, origin, releaseOf(t, example, "1.0.0", nil))
	publish(t, origin, releaseOf(t, example, "2.0.0", nil))
	dir := newUser(t, origin, example, "").dir
	for range rounds() {
		if err := os.RemoveAll(filepath.Join(dir, "blobs")); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for n := range 4 {
			u := newUser(t, origin, example, []string{"~> 1.0", "~> 2.0"}[n%2])
			u.required.AllowUnsigned = true
			store, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			u.Store = store
			group.Go(func() {
				done, err := u.Installer.Install(t.Context(), u.required, Lock{}, false)
				if err == nil {
					err = store.Verify(done.LockedPlugin)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if blobs, tmp := matches(t, dir, "blobs/sha256/*"), matches(t, dir, "tmp/*"); len(blobs) != 2 || len(tmp) != 0 {
			t.Errorf("blobs %v, tmp %v", blobs, tmp)
		}
	}
}

func TestAKilledInstallIsGoneOnWith(t *testing.T) {
	origin := layoutOf(t)
	publish(t, origin, releaseOf(t, example, "1.4.2", nil))
	u := newUser(t, origin, example, "")
	u.required.AllowUnsigned = true
	command := child(t, u.dir, origin.Layout, "yes")
	command.Stderr = os.Stderr
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
	if line, err := bufio.NewReader(output).ReadString('\n'); err != nil || line != "received\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	if err := u.Store.removeAbandoned(t.Context(), time.Now().Add(30*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if tmp := matches(t, u.dir, "tmp/*.part"); len(tmp) != 1 {
		t.Fatalf("what a living process receives must stay, tmp holds %v", tmp)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	if blobs, tmp := matches(
		t,
		u.dir,
		"blobs/sha256/*",
	), matches(
		t,
		u.dir,
		"tmp/*.part",
	); len(blobs) != 0 ||
		len(tmp) != 1 {
		t.Fatalf("after the kill: blobs %v, tmp %v", blobs, tmp)
	}
	u.mustInstall()
	if u.began <= 64<<10 {
		t.Errorf("it began again: the first progress was %d bytes", u.began)
	}
	if tmp := matches(t, u.dir, "tmp/*"); len(tmp) != 0 {
		t.Errorf("tmp holds %v", tmp)
	}
}

// Between the file's last change and its name a kill leaves a complete file
// without write permission.
func TestWhatWasReceivedWholeAndNotNamedIsUsed(t *testing.T) {
	origin := layoutOf(t)
	r := releaseOf(t, example, "1.4.2", nil)
	published := publish(t, origin, r)
	u := newUser(t, origin, example, "")
	u.required.AllowUnsigned = true
	content, err := os.ReadFile(r.Files[HostPlatform()])
	if err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(u.dir, "tmp", published.Builds[HostPlatform()][len("sha256:"):]+".part")
	if err := os.WriteFile(part, content, 0o555); err != nil {
		t.Fatal(err)
	}
	if done := u.mustInstall(); len(done.Fetched) != 1 || u.began >= 0 {
		t.Errorf("it was fetched again: %+v", done)
	}
	if info, err := os.Stat(
		matches(t, u.dir, "blobs/sha256/*")[0],
	); err != nil ||
		runtime.GOOS != "windows" && info.Mode().Perm() != 0o555 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAWrongBeginningIsThrownAway(t *testing.T) {
	origin := layoutOf(t)
	published := publish(t, origin, releaseOf(t, example, "1.4.2", nil))
	u := newUser(t, origin, example, "")
	u.required.AllowUnsigned = true
	part := filepath.Join(u.dir, "tmp", published.Builds[HostPlatform()][len("sha256:"):]+".part")
	if err := os.WriteFile(part, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	u.mustInstall()
}

func TestABeginningThatNobodyWantsGoesAfterAWeek(t *testing.T) {
	u := newUser(t, layoutOf(t), example, "")
	part := filepath.Join(u.dir, "tmp", digestA()[len("sha256:"):]+".part")
	if err := os.WriteFile(part, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		after time.Duration
		stays bool
	}{{time.Hour, true}, {partLife + time.Hour, false}} {
		if err := u.Store.removeAbandoned(t.Context(), time.Now().Add(one.after)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(part); errors.Is(err, os.ErrNotExist) == one.stays {
			t.Errorf("after %s: %v", one.after, err)
		}
	}
}

func TestACancelledInstallLeavesNothing(t *testing.T) {
	origin := layoutOf(t)
	publish(t, origin, releaseOf(t, example, "1.4.2", nil))
	u := newUser(t, origin, example, "")
	u.required.AllowUnsigned = true
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := u.Installer.Install(ctx, u.required, Lock{}, false); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if blobs := matches(t, u.dir, "blobs/sha256/*"); len(blobs) != 0 {
		t.Errorf("the store holds %v", blobs)
	}
}

func digestA() string {
	return "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
}
