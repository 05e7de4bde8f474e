//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// The files of examples/quickstart, in their order, do what they say.
func TestTheQuickstartsFiles(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	if runtime.GOARCH == "arm64" {
		w.environ = append(w.environ, "FLEET_VAR_arch=arm64")
	}
	use := func(folder string) {
		t.Helper()
		content, err := os.ReadFile(filepath.Join("../../examples/quickstart", folder, "fleet.hcl"))
		if err != nil {
			t.Fatal(err)
		}
		w.write(string(content))
	}
	use("1-start")
	w.install()
	w.fleet(2, "plan", "--detailed-exitcode")
	w.apply(0)
	first := w.shouldHave(2)
	w.fleet(0, "plan", "--detailed-exitcode")

	use("2-change")
	w.fleet(2, "plan", "--detailed-exitcode")
	w.apply(0)
	all := w.shouldHave(3)
	for _, i := range first {
		if all[0].ID != i.ID && all[1].ID != i.ID {
			t.Errorf("instance %s is gone; a higher min replaces nothing", i.ID)
		}
	}
	use("3-remove")
	w.fleet(2, "plan", "--detailed-exitcode")
	w.apply(0)
	w.shouldBeEmpty()
	if all := w.instances(); len(all) != 0 {
		t.Errorf("instances are left: %v", all)
	}
	w.fleet(0, "plan", "--detailed-exitcode")
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
