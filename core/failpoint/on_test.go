//go:build failpoint

package failpoint

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// here is a point only for this test.
const here point = "here"

func TestMain(m *testing.M) {
	if os.Getenv("PASSES") != "" {
		for range os.Getenv("PASSES") {
			WriterLocked.Hit()
			here.Hit()
			os.Stdout.WriteString("passed\n")
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// pass runs a process that passes the point three times.
func pass(t *testing.T, armed, file string) (printed string, err error) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = []string{"PASSES=123", "FORGEYARD_FAILPOINT=" + armed, "FORGEYARD_FAILPOINT_FILE=" + file}
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestAnArmedPointEndsTheProcessOnceAndTellsSo(t *testing.T) {
	for armed, passes := range map[string]int{"here": 0, "here#3": 2} {
		file := filepath.Join(t.TempDir(), "reached")
		printed, err := pass(t, armed, file)
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.Exited() {
			t.Errorf("%s: the process wasn't killed: %v", armed, err)
		}
		if n := strings.Count(printed, "passed"); n != passes {
			t.Errorf("%s: it passed %d times, want %d", armed, n, passes)
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s: nothing tells that it was reached: %v", armed, err)
		}
		// The file disarms it: the next process lives.
		if printed, err := pass(t, armed, file); err != nil || strings.Count(printed, "passed") != 3 {
			t.Errorf("%s: the next process: %v\n%s", armed, err, printed)
		}
	}
}

func TestAPointThatIsNotArmedIsPassed(t *testing.T) {
	for _, armed := range []string{"", "there", "here#4"} {
		if printed, err := pass(
			t,
			armed,
			filepath.Join(t.TempDir(), "reached"),
		); err != nil ||
			strings.Count(printed, "passed") != 3 {
			t.Errorf("%q: %v\n%s", armed, err, printed)
		}
	}
}

func TestAWaitingPointHoldsTheProcessUntilItIsKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reached")
	c := exec.Command(os.Args[0])
	c.Env = []string{"PASSES=1", "FORGEYARD_FAILPOINT=here:wait", "FORGEYARD_FAILPOINT_FILE=" + file}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(30 * time.Second); ; <-ticker.C {
		if _, err := os.Stat(file); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it never came to the point")
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var printed [16]byte
	if n, _ := out.Read(printed[:]); n != 0 {
		t.Errorf("it continued and printed %q", printed[:n])
	}
	_ = c.Wait() // it was killed
}

func TestAWrongArmingIsRefused(t *testing.T) {
	for armed, file := range map[string]string{"here#0": "f", "here#x": "f", "here": ""} {
		printed, err := pass(t, armed, file)
		if exit := (*exec.ExitError)(
			nil,
		); !errors.As(err, &exit) || exit.ExitCode() != 2 ||
			!strings.HasPrefix(printed, "failpoint: ") {
			t.Errorf("%s: %v\n%s", armed, err, printed)
		}
	}
}
