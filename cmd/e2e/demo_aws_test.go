//go:build linux

package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The demo is the example's fleet file in a simulated account: from nothing to machines
// on demand and on the spot market, by a region's signature, and back to nothing.
func TestTheDemoOfAWSIsTheWholeStoryAndLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newClouds(t)
	path, err := filepath.Abs("../../examples/aws/demo.sh")
	if err != nil {
		t.Fatal(err)
	}
	demo := w.begin(exec.Command(path, w.bin), []string{"TMPDIR=" + w.base}, "by demo.sh")
	demo.limit.Stop() // each of its waits has a limit of its own
	r := demo.wait()
	if r.code != 0 {
		t.Fatalf("it ends with %d\n%s%s", r.code, r.out, r.err)
	}
	for _, text := range []string{
		"2 instances to start", "InsufficientInstanceCapacity", "Applied. 2 healthy.", "all 10 admission checks passed",
		`"zone":"us-east-1b","spot":false`, `"spot":true`, "draining → terminating", "Applied. No instances.", "Done:",
	} {
		if !strings.Contains(r.out, text) {
			t.Errorf("it never says %q\n%s", text, r.out)
		}
	}
	if left, err := filepath.Glob(filepath.Join(w.base, "fyaws.*")); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, error %v", left, err)
	}
	if left := w.processes(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}
