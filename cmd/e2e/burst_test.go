//go:build linux

package e2e

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// gate is a pipe at which jobs wait until they are let go, each by one line of it.
type gate struct{ file *os.File }

// hold makes the pipe. It is open at both ends for the whole test, so that no job
// waits for a writer and none sees an end.
func (w *workspace) hold() (g gate, wait string) {
	w.t.Helper()
	path := w.path("go")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		w.t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { file.Close() })
	return gate{file}, "read line <" + path
}

// letGo lets n jobs continue.
func (g gate) letGo(t *testing.T, n int) {
	t.Helper()
	if _, err := g.file.WriteString(strings.Repeat("\n", n)); err != nil {
		t.Fatal(err)
	}
}

// begun counts the jobs that have begun.
func (w *workspace) begun() int {
	content, err := os.ReadFile(w.path("ran"))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return strings.Count(string(content), "\n")
}

// A hundred runners come, work and go, each a process with a worker and a job in
// it, and the manager dies without a word while they come, while they work and
// while they go. Which of them has come so far is a matter of the seed.
func TestManagerKilledDuringBurstLosesAndRepeatsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred runners take a minute")
	}
	const runners, jobs = 100, 130
	w := newWorkspace(t)
	q := w.queued()
	w.write(following(q, runners))
	w.install()
	daemon := w.served()
	w.apply(0)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	coming, working, going := 1+random.IntN(runners-1), 1+random.IntN(jobs-runners-1), 1+random.IntN(runners-1)
	t.Logf("seed %d: killed with %d hosts there, with %d jobs let go, with %d hosts left", seed, coming, working, going)

	begun := time.Now()
	phase := func(name string) { t.Logf("%6.1fs %s", time.Since(begun).Seconds(), name) }
	closed, wait := w.hold()
	q.submit(jobs, wait)
	w.mostHosts(runners, "see hosts come", func() bool { return len(w.keys()) >= coming })
	daemon.kill()
	daemon = w.served()
	w.mostHosts(runners, "see a job on each of a hundred runners", func() bool { return w.begun() >= runners })
	phase("a hundred jobs run at once")
	closed.letGo(t, working)
	w.mostHosts(
		runners,
		"see other jobs in the place of those that ended",
		func() bool { return w.begun() >= runners+working },
	)
	daemon.kill()
	closed.letGo(t, 1)
	eventually(t, "see a job begin without a manager", func() bool { return w.begun() > runners+working })
	daemon = w.served()
	closed.letGo(t, jobs-working-1)
	w.mostHosts(runners, "see every job begun", func() bool { return w.begun() >= jobs })
	w.mostHosts(runners, "see all jobs over", q.over)
	phase("every job is over")
	w.mostHosts(runners, "see hosts go", func() bool { return len(w.keys()) <= going })
	daemon.kill()
	daemon = w.served()
	w.mostHosts(runners, "see the fleet empty again", w.isEmpty)
	phase("no host is left")
	q.mustHaveRunOnce(jobs)
	if made := len(w.table("instance", "id")); made < runners {
		t.Errorf("%d instances were made, and %d jobs ran at once", made, runners)
	}
	eventually(t, "see the queue without runners", func() bool { return len(q.runners()) == 0 })
	daemon.stop()
	q.command.stop()
	w.shouldBeEmpty()
}
