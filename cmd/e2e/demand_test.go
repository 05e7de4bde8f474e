//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// mostHosts polls how many hosts there are, until a condition holds, and insists
// that there are never more than max.
func (w *workspace) mostHosts(max int, what string, until func() bool) (most int) {
	w.t.Helper()
	eventually(w.t, what, func() bool {
		if n := len(w.keys()); n > max {
			w.t.Fatalf("there are %d hosts, and max is %d", n, max)
		} else if n > most {
			most = n
		}
		return until()
	})
	return most
}

// isEmpty says that the fleet has no instance and no host.
func (w *workspace) isEmpty() bool {
	w.t.Helper()
	return len(w.keys()) == 0 && len(w.instances()) == 0
}

func TestAFleetScalesFromZeroAndBack(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	q := w.queued()
	w.write(following(q, 4))
	w.install()
	daemon := w.served()
	w.apply(0)
	if hosts := w.keys(); len(hosts) > 0 {
		t.Fatalf("no job waits, and there are the hosts %v", hosts)
	}

	q.submit(12, "sleep 1")
	eventually(t, "see the blocked demand", func() bool {
		out := w.fleet(0, "explain", "demo").out
		return strings.Contains(out, "no_capacity_now") && strings.Contains(out, "fleet.demo: limited by max = 4")
	})
	if most := w.mostHosts(4, "see all jobs over", q.over); most != 4 {
		t.Errorf("12 jobs waited, and there were %d hosts at most; 4 are allowed", most)
	}
	w.mostHosts(4, "see the fleet empty again", w.isEmpty)
	q.mustHaveRunOnce(12)
	eventually(t, "see the queue without runners", func() bool { return len(q.runners()) == 0 })
	for command, texts := range map[string][]string{
		"explain demo":        {"no jobs queued", "scale_down", "idle for 1s", "scale_up", "scale up 0 → 4: "},
		"events --fleet demo": {"scale_up by 4", "provision succeeded", "scale_down", "terminate succeeded", "terminated: "},
		"events":              {"audit", "definition 1"},
		"status":              {"scheduler forgeyard.queue", "healthy, active"},
	} {
		out := w.fleet(0, strings.Fields(command)...).out
		for _, text := range texts {
			if !strings.Contains(out, text) {
				t.Errorf("%s doesn't say %q:\n%s", command, text, out)
			}
		}
	}
	daemon.stop()
	q.command.stop()
	w.shouldBeEmpty()
	for _, text := range []string{daemon.err.String(), q.command.err.String()} {
		if token := strings.TrimSpace(w.read("queue.token")); strings.Contains(text, token) {
			t.Error("the queue's token is in a log")
		}
	}
}

// Can't see is not zero: for longer than idle_grace nothing is known of jobs, and
// nothing leaves. A queue that comes back without its memory is believed again.
func TestNoHostLeavesWhileTheQueueCannotBeSeen(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	q := w.queued()
	w.write(following(q, 2))
	w.install()
	daemon := w.served()
	w.apply(0)
	q.submit(2, "sleep 600")
	w.running(2)

	q.command.kill()
	eventually(t, "see the manager notice", func() bool {
		return strings.Contains(w.fleet(0, "status").out, "scheduler.forgeyard.queue is unreachable")
	})
	over := time.Now().Add(4 * time.Second)
	eventually(t, "see the time over", func() bool {
		if hosts := w.keys(); len(hosts) != 2 {
			t.Fatalf("the queue can't be seen, and the hosts are %v", hosts)
		}
		return time.Now().After(over)
	})
	if out := w.fleet(
		0,
		"explain",
		"demo",
	).out; !strings.Contains(out, "existing instances are kept") ||
		!strings.Contains(out, "Demand is unknown: scheduler.forgeyard.queue is unreachable") {
		t.Errorf("explain says\n%s", out)
	}
	q.again()
	eventually(t, "see the fleet empty once its queue has forgotten its jobs", w.isEmpty)
	daemon.stop()
	q.command.stop()
	w.shouldBeEmpty()
}

// Jobs come with gaps around idle_grace, so that drains and jobs meet again and
// again: a runner is cordoned just as a job is placed on it, told to stop just as
// another one comes, taken back just before it would have ended.
func TestNoJobIsLostWhileTheFleetScalesDownAndUp(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	q := w.queued()
	w.write(following(q, 3))
	w.install()
	daemon := w.served()
	w.apply(0)

	seed := time.Now().UnixNano()
	t.Logf("the gaps are those of the seed %d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	count := 0
	for begun := time.Now(); time.Since(begun) < 20*time.Second; {
		burst := 1 + random.IntN(4)
		q.submit(burst, fmt.Sprintf("sleep 0.%d", random.IntN(10)))
		count += burst
		gap := time.Duration(200+random.IntN(3000)) * time.Millisecond
		over := time.Now().Add(gap)
		w.mostHosts(3, "see the gap over", func() bool { return time.Now().After(over) })
	}
	w.mostHosts(3, "see all jobs over", q.over)
	w.mostHosts(3, "see the fleet empty again", w.isEmpty)
	q.mustHaveRunOnce(count)
	downs, returns := w.decided("scale_down"), w.decided("reactivate")
	t.Logf("%d jobs, %d drains, %d of them taken back", count, downs, returns)
	if downs < 2 {
		t.Errorf("%d drains were decided; the race didn't take place", downs)
	}
	daemon.stop()
	q.command.stop()
	w.shouldBeEmpty()
}

// decided counts the decisions of a kind.
func (w *workspace) decided(kind string) (n int) {
	w.t.Helper()
	for _, record := range w.table("decision", "id") {
		if strings.Contains(record, `"kind":"`+kind+`"`) {
			n++
		}
	}
	return n
}
