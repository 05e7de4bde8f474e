//go:build linux || darwin

package local

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// opened must succeed.
func opened(t *testing.T, root, cache string) string {
	t.Helper()
	id, err := openRoot(root, "inst", cache)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// notThisRoot must be the refusal, with what a person can do.
func notThisRoot(t *testing.T, err error) {
	t.Helper()
	refused, ok := errors.AsType[*provider.Error](err)
	if !ok || refused.Class != provider.Invalid || provider.IsNotCreated(err) ||
		!strings.Contains(err.Error(), "mount or restore it") {
		t.Errorf("got %v", err)
	}
}

func TestARootIsMarkedOnceAndKnownAgain(t *testing.T) {
	root, cache := filepath.Join(t.TempDir(), "new", "root"), t.TempDir()
	first := opened(t, root, cache)
	if second := opened(t, root, cache); second != first {
		t.Errorf("the root was %s and is %s", first, second)
	}
	if second := opened(t, root, t.TempDir()); second != first {
		t.Errorf("with an emptied cache the root was %s and is %s", first, second)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 1 {
		t.Errorf("beside the mark there is %v, %v", left, err)
	}
	if other := opened(t, filepath.Join(t.TempDir(), "other"), cache); other == first {
		t.Error("two roots have one id")
	}
}

func TestPluginsThatMarkARootAtOnceTakeOneMark(t *testing.T) {
	root := t.TempDir()
	ids := make([]string, 8)
	var all sync.WaitGroup
	for n := range ids {
		all.Go(func() { ids[n], _ = openRoot(root, "inst", "") })
	}
	all.Wait()
	if slices.Sort(ids); ids[0] == "" || ids[0] != ids[len(ids)-1] {
		t.Errorf("the ids are %v", ids)
	}
}

func TestARootThatLostItsMarkIsRefused(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, root string) error{
		"it was emptied": func(_ *testing.T, root string) error { return os.Remove(filepath.Join(root, markFile)) },
		"it isn't there": func(_ *testing.T, root string) error { return os.RemoveAll(root) },
		"it is another's one": func(t *testing.T, root string) error {
			return errors.Join(os.RemoveAll(root), os.Rename(filepath.Dir(markOf(t)), root))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root, cache := filepath.Join(t.TempDir(), "root"), t.TempDir()
			opened(t, root, cache)
			if err := lose(t, root); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadDir(root)
			_, err := openRoot(root, "inst", cache)
			notThisRoot(t, err)
			if after, _ := os.ReadDir(root); len(after) != len(before) {
				t.Errorf("the refusal left %v", after)
			}
			// What the advice says is enough.
			if err := os.Remove(filepath.Join(cache, memoryFile)); err != nil ||
				!strings.Contains(refusalOf(root, cache).Error(), cache) {
				t.Errorf("%v", err)
			}
			opened(t, root, cache)
		})
	}
}

// markOf makes a marked root and gives the path of its mark.
func markOf(t *testing.T) string {
	root := filepath.Join(t.TempDir(), "another")
	opened(t, root, "")
	return filepath.Join(root, markFile)
}

func refusalOf(root, cache string) error { return checkRoot(root, "0123456789", cache) }

// Without the memory of the cache, the account is what keeps the host from
// calling everything gone.
func TestAnEmptiedRootIsAnotherAccount(t *testing.T) {
	root := t.TempDir()
	first := account(root, opened(t, root, ""))
	if !strings.HasPrefix(first, "this machine, in "+root+" (") {
		t.Errorf("the account is %q", first)
	}
	if err := os.Remove(filepath.Join(root, markFile)); err != nil {
		t.Fatal(err)
	}
	if second := account(root, opened(t, root, "")); second == first {
		t.Errorf("the account is still %q", second)
	}
}

// A disk may be unmounted while the plugin runs.
func TestWithoutItsRootThePluginSaysNothingIsGone(t *testing.T) {
	m := newTestMachine(t)
	provision(t, m, "k1", playWell)
	awaitState(t, m, "k1", provider.Running)
	disk := m.root + "-disk"
	if err := errors.Join(os.Rename(m.root, disk), os.Mkdir(m.root, 0o700)); err != nil {
		t.Fatal(err)
	}
	var ended error
	for resource, err := range m.Inspect(t.Context(), provider.Query{}) {
		if err == nil {
			t.Errorf("it lists %+v", resource)
		}
		ended = err
	}
	notThisRoot(t, ended)
	state, err := m.Terminate(t.Context(), provider.Ref{ID: "k1", Key: "k1"})
	notThisRoot(t, err)
	if state != provider.TerminateUnknown {
		t.Errorf("a removal says %v", state)
	}
	_, err = m.Provision(t.Context(), requestFor("k1", playWell))
	notThisRoot(t, err)
	if left := leftIn(m); len(left) != 0 {
		t.Errorf("left in the wrong folder: %v", left)
	}
	if err := errors.Join(os.Remove(m.root), os.Rename(disk, m.root)); err != nil {
		t.Fatal(err)
	}
	if seen := list(t, m)["k1"]; seen.State != provider.Running {
		t.Errorf("after the disk is back the list has %+v", seen)
	}
}

func TestADamagedMarkIsNamed(t *testing.T) {
	for _, content := range []string{"", "{", "{}"} {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, markFile), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openRoot(root, "inst", ""); err == nil || errors.Is(err, fs.ErrNotExist) ||
			!strings.Contains(err.Error(), markFile) {
			t.Errorf("%q: got %v", content, err)
		}
	}
}

// After a power cut only what was synced is there: file, and the folder that has
// its name.
func TestEveryMarkIsOnTheDiskBeforeWhatFollowsIt(t *testing.T) {
	original := syncFolder
	defer func() { syncFolder = original }()
	m := newTestMachine(t)
	m.logger = slog.New(slog.DiscardHandler)
	d := m.directory("k1")
	var at []string // which folder was synced while which marks were there
	syncFolder = func(path string) error {
		state := path
		for _, name := range []string{startedFile, terminatingFile} {
			if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
				state += " " + name
			}
		}
		at = append(at, state)
		return original(path)
	}
	provision(t, m, "k1", playWell)
	awaitState(t, m, "k1", provider.Running)
	pid := noted(d, ".starts")[0]
	for _, want := range []string{m.root, string(d) + " started"} {
		if !slices.Contains(at, want) {
			t.Errorf("synced were %q, and not %q", at, want)
		}
	}
	at = nil
	cut := errors.New("the disk fails")
	watched := syncFolder
	syncFolder = func(path string) error { return errors.Join(watched(path), cut) }
	if state, err := m.Terminate(t.Context(), provider.Ref{ID: "k1", Key: "k1"}); state != provider.TerminateUnknown ||
		!errors.Is(err, cut) {
		t.Errorf("a removal whose mark may be lost says %v, %v", state, err)
	}
	if !runs(pid) {
		t.Error("the agent was ended before the mark was on the disk")
	}
	syncFolder = watched
	terminate(t, m, "k1", false)
	for _, want := range []string{string(d) + " started terminating", m.root} {
		if !slices.Contains(at, want) {
			t.Errorf("synced were %q, and not %q", at, want)
		}
	}
}
