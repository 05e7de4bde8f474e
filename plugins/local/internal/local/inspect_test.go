//go:build linux || darwin

package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

func TestListHasWhatIsOursAndNothingElse(t *testing.T) {
	m := newTestMachine(t)
	for installation, key := range map[string]string{"inst": "ours", "other": "theirs"} {
		maker := *m
		maker.installation = installation
		request := requestFor(key, playWell)
		if err := maker.create(maker.recordOf(request), fileDocument(request.Bootstrap)); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{".tmp-k3-1", ".gone-k4", "holiday-photos"} {
		if err := os.Mkdir(filepath.Join(m.root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(m.root, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := list(t, m); len(got) != 1 || got["ours"].Key != "ours" {
		t.Errorf("got %v", got)
	}
}

func TestListThatCannotBeReadEndsInAnError(t *testing.T) {
	const key = "01k00000000000000000000001" // as the manager's are: it can't be anybody else's
	for name, corrupt := range map[string]func(*machine) error{
		"the root is gone": func(m *machine) error { return os.RemoveAll(m.root) },
		"a record is damaged": func(m *machine) error {
			return os.WriteFile(m.directory(key).path(recordFile), []byte("{"), 0o600)
		},
		"a lock holds no pid": func(m *machine) error {
			return os.WriteFile(m.directory(key).path(lockFile), []byte("x\n"), 0o600)
		},
		"a start can't be read": func(m *machine) error {
			return os.WriteFile(m.directory(key).path(startedFile), []byte("{"), 0o600)
		},
		"a lock names process 1": func(m *machine) error {
			return os.WriteFile(m.directory(key).path(lockFile), []byte("1\n"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestMachine(t)
			request := requestFor(key, playWell)
			if err := m.create(m.recordOf(request), fileDocument(request.Bootstrap)); err != nil {
				t.Fatal(err)
			}
			if err := corrupt(m); err != nil {
				t.Fatal(err)
			}
			var ended error
			for _, err := range m.Inspect(t.Context(), provider.Query{}) {
				ended = errors.Join(ended, err)
			}
			if ended == nil {
				t.Error("the list looks complete")
			}
		})
	}
}

// A look at the lock holds it for a moment. An agent that came just then would
// take itself for a second one, end, and never come back.
func TestLookingNeverTakesTheLockFromAnAgentThatStarts(t *testing.T) {
	m := newTestMachine(t)
	stop := make(chan struct{})
	var looking sync.WaitGroup
	for range 2 {
		looking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					for _, err := range m.Inspect(t.Context(), provider.Query{}) {
						if err != nil && !errors.Is(err, fs.ErrNotExist) {
							t.Error(err)
						}
					}
				}
			}
		})
	}
	const agents = 12
	for i := range agents {
		provision(t, m, fmt.Sprint("k", i), playSlowly)
	}
	for i := range agents {
		awaitState(t, m, fmt.Sprint("k", i), provider.Running)
	}
	close(stop)
	looking.Wait()
}

// What others keep in the root says nothing about our instances, and must not
// hide them.
func TestFoldersOfOthersAreNoInstancesWhateverIsInThem(t *testing.T) {
	m := newTestMachine(t)
	provision(t, m, "k1", playWell)
	defer terminate(t, m, "k1", true)
	for name, put := range map[string]func(record string) error{
		"text":      func(record string) error { return os.WriteFile(record, []byte("not JSON"), 0o600) },
		"directory": func(record string) error { return os.Mkdir(record, 0o700) },
		"pipe":      func(record string) error { return unix.Mkfifo(record, 0o600) },
		"dangling":  func(record string) error { return os.Symlink("/nowhere", record) },
	} {
		folder := filepath.Join(m.root, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := put(filepath.Join(folder, recordFile)); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(t, m); len(got) != 1 || got["k1"].Key != "k1" {
		t.Errorf("listed %v", got)
	}
}

func TestLockWithoutAPIDIsNotProbed(t *testing.T) {
	m := newTestMachine(t)
	request := requestFor("k1", playWell)
	if err := m.create(m.recordOf(request), fileDocument(request.Bootstrap)); err != nil {
		t.Fatal(err)
	}
	d := m.directory("k1")
	if err := writeJSON(d.path(startedFile), identify(startStranger(t))); err != nil {
		t.Fatal(err)
	}
	for content, state := range map[string]provider.State{"": provider.Pending, "4194": provider.Pending,
		"4194303\n": provider.Running} {
		lock, err := os.Create(d.path(lockFile))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lock.WriteString(content); err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		if got := list(t, m)["k1"].State; got != state {
			t.Errorf("%q in the lock: got %v, wanted %v", content, got, state)
		}
		lock.Close()
	}
}

func BenchmarkInspectThousand(b *testing.B) {
	m := newTestMachine(b)
	for i := range 1000 {
		request := requestFor(fmt.Sprintf("k%04d", i), playWell)
		if err := m.create(m.recordOf(request), fileDocument(request.Bootstrap)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if got := list(b, m); len(got) != 1000 {
			b.Fatal(len(got))
		}
	}
}
