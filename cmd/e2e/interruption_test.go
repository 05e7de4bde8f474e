//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// platform stands in for AWS's metadata service, for all agents of a workspace:
// the token tells them apart, since each asks for its own.
type platform struct {
	mu     sync.Mutex
	tokens int
	// taken is the token of the host that is taken away, at the time.
	taken string
	at    time.Time
}

func (p *platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
		p.tokens++
		fmt.Fprintf(w, "token-%d", p.tokens)
	case p.taken != "" && r.Header.Get("X-aws-ec2-metadata-token") == p.taken &&
		r.URL.Path == "/latest/meta-data/spot/instance-action":
		fmt.Fprintf(w, `{"action": "terminate", "time": %q}`, p.at.UTC().Format(time.RFC3339))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// takeAway announces the end of the host whose agent asked for the n-th token.
func (p *platform) takeAway(n int, in time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken, p.at = fmt.Sprintf("token-%d", n), time.Now().Add(in)
}

func (p *platform) hosts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tokens
}

// preemptible is a fleet that follows the queue on hosts of the platform.
func (w *workspace) preemptible(q *queue) *platform {
	w.t.Helper()
	p := &platform{}
	server := httptest.NewServer(p)
	w.t.Cleanup(server.Close)
	instance := fmt.Sprintf(
		"  instance {\n    env = {\n      FORGEYARD_RUNNER_METADATA = \"aws %s\"\n    }\n  }\n\n  admission {",
		server.URL,
	)
	w.write(strings.Replace(following(q, 2), "  admission {", instance, 1))
	w.install()
	return p
}

// taken is the one instance with an announcement, as the command line shows it.
func (w *workspace) taken() (id, shown string) {
	w.t.Helper()
	for _, i := range w.instances() {
		if out := w.fleet(0, "instance", "show", i.ID).out; strings.Contains(out, "takes it away") {
			return i.ID, out
		}
	}
	return "", ""
}

func TestInterruptedJobResumesOnReplacement(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	q := w.queued()
	p := w.preemptible(q)
	daemon := w.served()
	w.apply(0)

	saved, begun := w.path("saved"), w.path("begun")
	script := fmt.Sprintf(
		`if [ -e %[1]s ]; then exit 0; fi; trap 'cp "$FORGEYARD_INTERRUPTION" %[1]s.new; mv %[1]s.new %[1]s; exit 9' USR1; touch %[2]s; while :; do sleep 0.05; done`,
		saved,
		begun,
	)
	q.run("submit", "--checkpoint", "--os", "linux", "--trust", "standard", "--cpu", "1", "--", "sh", "-c", script)
	eventually(t, "see the job run", func() bool { return exists(begun) && p.hosts() == 1 })
	p.takeAway(1, 2*time.Minute)

	eventually(t, "see the job saved", func() bool { return exists(saved) })
	if left := strings.TrimSpace(w.read("saved")); len(left) != 3 || left > "105" {
		t.Errorf("of two minutes the job was given %q seconds to save its state", left)
	}
	eventually(t, "see it finish elsewhere", q.over)
	j := q.jobs()[0]
	if j.State != "succeeded" || j.Attempts != 2 || j.Losses != 1 {
		t.Errorf("the job is %+v", j)
	}
	if p.hosts() < 2 {
		t.Errorf("it ran on %d hosts", p.hosts())
	}
	eventually(t, "see the fleet empty again", w.isEmpty)
	if out := w.fleet(0, "events", "--fleet", "demo").out; !strings.Contains(out, "scale_up by 1") {
		t.Errorf("events say:\n%s", out)
	}
	daemon.stop()
	q.command.stop()
	w.shouldBeEmpty()
}

func TestInterruptedJobIsRetriedAsInfrastructureLoss(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	q := w.queued()
	p := w.preemptible(q)
	daemon := w.served()
	w.apply(0)

	end := w.path("end")
	// It would be ended by a signal that it doesn't know.
	q.submit(1, "[ -e "+end+" ] || while :; do sleep 0.05; done")
	eventually(t, "see the job run", func() bool { return exists(w.path("ran")) && p.hosts() == 1 })
	p.takeAway(1, 20*time.Second)

	var id, shown string
	eventually(t, "see what was announced", func() bool { id, shown = w.taken(); return id != "" })
	if !strings.Contains(shown, "draining") || !strings.Contains(shown, "AWS spot: terminate") ||
		!strings.Contains(shown, "those that still run then are run again") {
		t.Errorf("instance show says:\n%s", shown)
	}
	if out := w.fleet(
		0,
		"explain",
		"demo",
	).out; !strings.Contains(out, "Interruptions announced by the provider") ||
		!strings.Contains(out, id) {
		t.Errorf("explain says:\n%s", out)
	}
	if j := q.jobs()[0]; j.State != "leased" || j.Losses != 0 {
		t.Errorf("before the deadline the job is %+v", j)
	}
	var waits queueJob
	eventually(t, "see it wait again", func() bool { waits = q.jobs()[0]; return waits.State == "waiting" })
	if !strings.Contains(waits.Reason, "lost to the infrastructure") || !strings.Contains(waits.Reason, "preempted") ||
		waits.Losses != 1 {
		t.Errorf("the queue's record says %+v", waits)
	}
	touch(t, end)
	eventually(t, "see it finish elsewhere", q.over)
	if j := q.jobs()[0]; j.State != "succeeded" || j.Attempts != 2 {
		t.Errorf("the job is %+v", j)
	}
	if strings.Count(w.read("ran"), "\n") != 2 {
		t.Errorf("it ran:\n%s", w.read("ran"))
	}
	eventually(t, "see the fleet empty again", w.isEmpty)
	daemon.stop()
	q.command.stop()
	w.shouldBeEmpty()
}
