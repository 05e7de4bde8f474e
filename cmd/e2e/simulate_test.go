//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// simulates makes the workspace that of examples/simulate.
func simulates(t *testing.T) *workspace {
	t.Helper()
	w := newWorkspace(t)
	for _, name := range []string{"fleet.hcl", "day.csv"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "examples", "simulate", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.environ = slices.DeleteFunc(w.environ, func(line string) bool { return strings.HasPrefix(line, "FLEET_VAR_") })
	w.install()
	return w
}

func TestTheExampleOfAReplayRunsAndStartsNothing(t *testing.T) {
	t.Parallel()
	w := simulates(t)
	r := w.fleet(0, "simulate", "--trace", "day.csv")
	for _, want := range []string{"1391 jobs from", "! 9 of them: no fleet can run them.", `require os "darwin"`,
		"fleet.standard", "Queued jobs", "Instances:"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("it doesn't say %q:\n%s", want, r.out)
		}
	}
	if r.err != "" || strings.Contains(r.out, "\x1b") {
		t.Errorf("without a terminal there is no progress and no colour: %q", r.err)
	}
	first := w.fleet(0, "simulate", "--trace", "day.csv", "--json").out
	var result struct{ Jobs, Ran, Unrunnable int }
	if err := json.Unmarshal(
		[]byte(first),
		&result,
	); err != nil || result.Jobs != 1391 || result.Ran != 1382 ||
		result.Unrunnable != 9 {
		t.Errorf("%v: %+v", err, result)
	}
	if second := w.fleet(0, "simulate", "--trace", "day.csv", "--json").out; second != first {
		t.Error("two replays of one trace say different things")
	}
	if _, err := os.Stat(w.state); !os.IsNotExist(err) {
		t.Errorf("a replay made a state directory: %v", err)
	}
	w.shouldLaunchNothing()
}

// shouldLaunchNothing insists that no plugin was ever launched.
func (w *workspace) shouldLaunchNothing() {
	w.t.Helper()
	if launched := w.launches(); len(launched) > 0 {
		w.t.Errorf("plugins were launched: %v", launched)
	}
}

func TestAReplayComparesTwoFleetFiles(t *testing.T) {
	t.Parallel()
	w := simulates(t)
	r := w.fleet(
		0,
		"simulate",
		"--trace",
		"day.csv",
		"--compare",
		".",
		"--from",
		"2026-09-08T10:00:00Z",
		"--until",
		"2026-09-08T12:00:00Z",
	)
	if strings.Count(r.out, "the same\n") < 10 {
		t.Errorf("a file isn't the same as itself:\n%s", r.out)
	}
	r = w.fleet(1, "simulate", "--trace", "day.csv", "--compare", "nowhere")
	if !strings.Contains(r.err, "nowhere") {
		t.Error(r.err)
	}
}

func TestABrokenTraceIsToldByItsPlace(t *testing.T) {
	t.Parallel()
	w := simulates(t)
	if err := os.WriteFile(
		filepath.Join(w.dir, "bad.csv"),
		[]byte("arrival,duration,cpu\n1,1,two\nyesterday,1,1\n"),
		0o644,
	); err != nil {
		t.Fatal(err)
	}
	r := w.fleet(1, "simulate", "--trace", "bad.csv")
	for _, want := range []string{`bad.csv:2:5: cpu is "two"`, `bad.csv:3:1: arrival is "yesterday"`} {
		if !strings.Contains(r.err, want) {
			t.Errorf("it doesn't say %q:\n%s", want, r.err)
		}
	}
	if r := w.fleet(1, "simulate", "--trace", "none.csv"); !strings.Contains(r.err, "none.csv") {
		t.Error(r.err)
	}
}

func TestExit130WhereAReplayIsInterrupted(t *testing.T) {
	t.Parallel()
	w := simulates(t)
	// A pipe that is never closed, so that the replay surely hasn't ended.
	path := filepath.Join(w.dir, "pipe.csv")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	c := w.start("simulate", "--trace", "pipe.csv")
	pipe, err := os.OpenFile(path, os.O_WRONLY, 0) // waits for the reader
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if _, err := pipe.WriteString("arrival,duration\n"); err != nil {
		t.Fatal(err)
	}
	c.signal(syscall.SIGINT)
	job := bytes.Repeat([]byte("1,1\n"), 1000)
	for ended := time.Now().Add(patience); time.Now().Before(ended); {
		if _, err := pipe.Write(job); err != nil {
			break // it reads no more
		}
	}
	if r := c.wait(); r.code != 130 || r.err != "Interrupted.\n" {
		t.Errorf("it ended with %d: %s", r.code, r.err)
	}
}

// Millions of jobs are read as a stream: what a job takes in memory is small.
func TestAMillionJobsAreReplayedInBoundedMemory(t *testing.T) {
	t.Parallel()
	w := simulates(t)
	file, err := os.Create(filepath.Join(w.dir, "many.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	text.WriteString("arrival,duration,os,cpu,memory\n")
	for n := range 1_000_000 { // thousands at once, with days between
		fmt.Fprintf(&text, "%d,60,linux,1,1GiB\n", 1_790_000_000+n/20_000*86_400)
	}
	if _, err := file.Write(text.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	c := w.start("simulate", "--trace", "many.csv", "--json")
	if r := c.wait(); r.code != 0 || !strings.Contains(r.out, `"ran": 1000000`) {
		t.Fatalf("it ended with %d: %.300s%s", r.code, r.out, r.err)
	}
	usage := c.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if mib := usage.Maxrss >> 10; mib > 400 {
		t.Errorf("it took %d MiB", mib)
	}
}
