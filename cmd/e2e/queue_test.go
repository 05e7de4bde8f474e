//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// queue is a running forgeyard-queue of a workspace.
type queue struct {
	w       *workspace
	command *command
	url     string
}

// queued starts a queue and waits until it listens.
func (w *workspace) queued() *queue {
	w.t.Helper()
	q := &queue{w: w}
	q.command = w.queueCommand("serve", "--listen", "127.0.0.1:0")
	q.command.mustSay("This is a reference scheduler")
	_, rest, _ := strings.Cut(q.command.heard(), "listens at ")
	q.url, _, _ = strings.Cut(rest, "\n")
	return q
}

// again starts a queue in the place of one that has ended.
func (q *queue) again() {
	q.w.t.Helper()
	q.command = q.w.queueCommand("serve", "--listen", strings.TrimPrefix(q.url, "http://"))
	q.command.mustSay("This is a reference scheduler")
}

// queueCommand starts forgeyard-queue, with the workspace's token.
func (w *workspace) queueCommand(args ...string) *command {
	w.t.Helper()
	args = slices.Insert(args, 1, "--token-file", filepath.Join(filepath.Dir(w.state), "queue.token"))
	return w.begin(exec.Command(filepath.Join(w.bin, "forgeyard-queue"), args...), nil, args...)
}

// run runs a command of forgeyard-queue about this queue.
func (q *queue) run(args ...string) string {
	q.w.t.Helper()
	r := q.w.queueCommand(slices.Insert(args, 1, "--url", q.url)...).wait()
	if r.code != 0 {
		q.w.t.Fatalf("forgeyard-queue %s ended with %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

// submit puts jobs into the queue, each of which notes its id in the file "ran"
// and then does what the shell text says.
func (q *queue) submit(count int, text string) {
	q.w.t.Helper()
	note := fmt.Sprintf("echo $FORGEYARD_QUEUE_JOB >>%s", q.w.path("ran"))
	q.run(
		"submit",
		"--count",
		itoa(count),
		"--os",
		"linux",
		"--trust",
		"standard",
		"--cpu",
		"1",
		"--",
		"sh",
		"-c",
		note+"; "+text,
	)
}

// queueJob is one of `forgeyard-queue jobs --json`.
type queueJob struct {
	ID       string `json:"id"`
	State    string `json:"state"`
	Attempts int    `json:"attempts"`
	Losses   int    `json:"losses"`
	Reason   string `json:"reason"`
}

func (q *queue) jobs() []queueJob {
	q.w.t.Helper()
	var all struct {
		Jobs []queueJob `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(q.run("jobs", "--json")), &all); err != nil {
		q.w.t.Fatal(err)
	}
	return all.Jobs
}

// over says that no job waits or runs any more.
func (q *queue) over() bool {
	q.w.t.Helper()
	return !slices.ContainsFunc(q.jobs(), func(j queueJob) bool { return j.State == "waiting" || j.State == "leased" })
}

// mustHaveRunOnce checks that there are so many jobs, that each succeeded at its
// first attempt, and that each was really run, once.
func (q *queue) mustHaveRunOnce(count int) {
	q.w.t.Helper()
	var ids []string
	for _, j := range q.jobs() {
		if j.State != "succeeded" || j.Attempts != 1 || j.Losses != 0 {
			q.w.t.Errorf(
				"the job %s is %s after %d attempts, %d of them lost: %s",
				j.ID,
				j.State,
				j.Attempts,
				j.Losses,
				j.Reason,
			)
		}
		ids = append(ids, j.ID)
	}
	if len(ids) != count {
		q.w.t.Errorf("%d jobs, want %d", len(ids), count)
	}
	ran := strings.Fields(q.w.read("ran"))
	slices.Sort(ids)
	slices.Sort(ran)
	if !slices.Equal(ids, ran) {
		q.w.t.Errorf("these jobs ran:\n%v\nthese were submitted:\n%v", ran, ids)
	}
}

// runners are the runners that the queue knows.
func (q *queue) runners() []string {
	q.w.t.Helper()
	request, err := http.NewRequestWithContext(q.w.t.Context(), http.MethodGet, q.url+"/v1/runners", nil)
	if err != nil {
		q.w.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(q.w.read("queue.token")))
	var all struct {
		Running []struct {
			Runner string `json:"runner"`
		} `json:"running"`
	}
	if err := json.Unmarshal(answerOf(q.w.t, request), &all); err != nil {
		q.w.t.Fatal(err)
	}
	var names []string
	for _, r := range all.Running {
		names = append(names, r.Runner)
	}
	return names
}

// answerOf is what a service answers, which must be a success.
func answerOf(t *testing.T, request *http.Request) []byte {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s answers with %s: %v\n%s", request.URL, response.Status, err, content)
	}
	return content
}

// following is a fleet file whose fleet "demo" follows the queue's demand, from
// nothing to max and back.
func following(q *queue, max int) string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x86_64"
	}
	head := definition{removed: true}.String()
	head, _, _ = strings.Cut(head, "\nremoved {")
	return head +
		strings.NewReplacer("@ARCH@", arch, "@MAX@", itoa(max), "@URL@", q.url, "@TOKEN@", q.w.path("queue.token")).
			Replace(followingFleet)
}

const followingFleet = `
scheduler "forgeyard" "queue" {
  url   = "@URL@"
  token = secret("file:@TOKEN@")
}

capacity_class "small" {
  trust = "standard"

  platform {
    os   = "linux"
    arch = "@ARCH@"
  }

  resources {
    cpu    = 1
    memory = "64MiB"
    slots  = 1
  }
}

fleet "demo" {
  capacity_class = capacity_class.small
  provider       = provider.local.here
  scheduler      = scheduler.forgeyard.queue

  scaling {
    min           = 0
    max           = @MAX@
    scale_to_zero = true

    scale_down {
      idle_grace = "1s"
      cooldown   = "1s"
    }
  }

  admission {
    job_isolation = "none"
  }
}
`
