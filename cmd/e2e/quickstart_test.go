//go:build linux

package e2e

import (
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The script is what a newcomer sees first: it tells the whole story, with every
// reason, ends by itself, and leaves nothing.
func TestTheQuickstartIsTheWholeStoryAndLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	path, err := filepath.Abs("../../examples/quickstart/quickstart.sh")
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	r := w.begin(exec.Command(path, w.bin), []string{"TMPDIR=" + w.base}, "by quickstart.sh").wait()
	if r.code != 0 {
		t.Fatalf("it ends with %d\n%s%s", r.code, r.out, r.err)
	}
	t.Logf("it took %s", time.Since(begun).Round(time.Second))
	if jobs := strings.Count(r.out, "succeeded: exit status 0"); jobs != 12 {
		t.Errorf("%d jobs succeeded, want 12\n%s", jobs, r.out)
	}
	for _, text := range []string{
		"fleet.demo  0 ", "scale_up", "limited by max = 4", "healthy: all 10 admission checks passed", "scale_down",
		"its scheduler shows it cordoned and without a lease", "the agent stopped after its worker", "Done:", "Try next:",
	} {
		if !strings.Contains(r.out, text) {
			t.Errorf("it never says %q\n%s", text, r.out)
		}
	}
	if left, err := filepath.Glob(filepath.Join(w.base, "forgeyard-quickstart.*")); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, error %v", left, err)
	}
	if left := w.processes(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestASecondApplyChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 2, max: 4}.String())
	w.install()
	w.apply(0)
	instances, agents, before := w.shouldHave(2), w.agents(), w.stored()

	r := w.apply(0)
	if !strings.Contains(r.out, "No changes.") {
		t.Errorf("the second apply says:\n%s", r.out)
	}
	if after := w.stored(); !reflect.DeepEqual(before, after) {
		t.Errorf("the second apply wrote an operation or a definition:\nbefore %v\nafter  %v", before, after)
	}
	if after := w.agents(); !reflect.DeepEqual(agents, after) {
		t.Errorf("the agents were %v and are %v", agents, after)
	}
	for n, i := range w.shouldHave(2) {
		if i.ID != instances[n].ID || i.Runner.ID != instances[n].Runner.ID {
			t.Errorf("instance %v became %v", instances[n], i)
		}
	}
}
