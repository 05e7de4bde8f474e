//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// moment is something that can be seen from outside while apply runs. It says
// whether it has come or, false, that apply ended without it.
type moment struct {
	name string
	come func(w *workspace, c *command) bool
}

// line is the moment when a move was printed, which is after it was committed.
func line(text string) moment {
	return moment{"the line " + text, func(_ *workspace, c *command) bool { return c.says(text) }}
}

// sight is a moment that the disk shows, mostly in the middle of a call.
func sight(name string, seen func(*workspace) bool) moment {
	return moment{name, func(w *workspace, c *command) bool {
		came := false
		eventually(w.t, "see "+name, func() bool {
			if came = seen(w); came {
				return true
			}
			select {
			case <-c.ended:
				return true
			default:
				return false
			}
		})
		return came
	}}
}

// hostHas is the moment when some host's folder has a file.
func hostHas(file string) func(*workspace) bool {
	return func(w *workspace) bool {
		found, _ := filepath.Glob(filepath.Join(w.hosts, "[^.]*", file)) // the pattern is well formed
		return len(found) > 0
	}
}

// coming are the moments of an apply that makes hosts, in their order.
var coming = []moment{
	sight("the writer's lock taken", func(w *workspace) bool { return exists(w.path("state/manager.json")) }),
	line("requested: "),      // the intent is stored, the call not yet made
	line("→ provisioning: "), // and now it goes out
	sight("a host's folder in the making", func(w *workspace) bool { return len(w.hostEntries()) > 0 }),
	sight("a host's folder", func(w *workspace) bool { return len(w.keys()) > 0 }), // the answer is yet to come
	sight("a started agent", hostHas("lock")),
	line("→ bootstrapping: "), // the answer is stored
	sight("an agent's key", hostHas("agent/runner.key")),
	sight("an enrolled agent", hostHas("agent/runner.json")),
	line("→ enrolling: "),
	line("→ healthy: "),
}

// leaving are the moments of an apply that takes hosts away.
var leaving = []moment{
	line("→ draining: "),
	sight("a host that was told to go", hostHas("terminating")),
	line("→ terminating: "),
	sight("a host's folder gone", func(w *workspace) bool { return len(w.keys()) < 2 }),
	line("→ terminated: "),
}

// A manager that is killed again and again gets there all the same.
func TestTheManagerMayBeKilledManyTimes(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 3, max: 3}.String())
	w.install()
	for _, m := range coming {
		c := w.start("apply", "--auto-approve")
		// Later ones come only where an earlier kill left something to do.
		m.come(w, c)
		c.kill()
		if m.name != coming[0].name { // from here on there is something to look at
			w.fleet(0, "status")
		}
	}
	w.apply(0)
	w.mustBeMadeOnce(w.shouldHave(3))
	w.write(definition{removed: true}.String())
	for _, m := range leaving {
		c := w.start("apply", "--auto-approve")
		m.come(w, c)
		c.kill()
	}
	w.apply(0)
	w.shouldBeEmpty()
}

// mustBeMadeOnce checks that each instance was let in by one operation and that
// no other instance was ever asked for: what was killed is adopted or sent
// again, never given up for a new one.
func (w *workspace) mustBeMadeOnce(all []instance) {
	w.t.Helper()
	for _, i := range all {
		if len(i.Operations) != 1 || i.Operations[0].Kind != "provision" || i.Operations[0].State != "succeeded" {
			w.t.Errorf("instance %s has the operations %v; one provision that succeeded makes it", i.ID, i.Operations)
		}
	}
	if operations := w.table("operation", "id"); len(operations) != len(all) {
		w.t.Errorf("%d operations were stored for %d instances: %v", len(operations), len(all), operations)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
