//go:build linux

package e2e

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/testonly/standin"
)

// standinRunner is the name under which this program is ReviewOS's runner: the
// hosts download it.
const standinRunner = "reviewos-runner"

const reviewQueue = "linux-x64-large"

// reviewed starts a stand-in for ReviewOS, and lets the fleet "demo" follow it.
func (w *workspace) reviewed(min, max int) *standin.Server {
	w.t.Helper()
	server := standin.New(w.t, time.Now)
	program, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	server.Offer(program)
	for name, secret := range map[string]string{"maintainer.token": standin.MaintainerToken,
		"metrics.token": standin.MetricsToken} {
		if err := os.WriteFile(w.path(name), []byte(secret+"\n"), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x86_64"
	}
	head, _, _ := strings.Cut(definition{removed: true}.String(), "\nremoved {")
	body := strings.Replace(
		followingFleet,
		followingFleet[:strings.Index(followingFleet, "capacity_class")],
		reviewScheduler,
		1,
	)
	body = strings.NewReplacer("scheduler.forgeyard.queue", "scheduler.reviewos.main", "min           = 0",
		"min           = "+itoa(min),
		"scale_to_zero = true", "scale_to_zero = "+fmt.Sprint(min == 0)).
		Replace(body)
	w.write(
		head + strings.NewReplacer("@ARCH@", arch, "@MAX@", itoa(max), "@URL@", server.URL, "@BASE@", w.base).Replace(body),
	)
	return server
}

const reviewScheduler = `
scheduler "reviewos" "main" {
  url           = "@URL@"
  token         = secret("file:@BASE@/maintainer.token")
  metrics_token = secret("file:@BASE@/metrics.token")

  queue "linux-x64-large" {
    id             = 7
    capacity_class = capacity_class.small
    labels         = ["ubuntu-latest", "self-hosted"]
  }
}

`

// allDone says that so many jobs of the mapped queue are done, each begun once.
func allDone(t *testing.T, server *standin.Server, count int) bool {
	t.Helper()
	jobs := slices.DeleteFunc(server.Jobs(), func(j standin.Job) bool { return j.Queue != reviewQueue })
	for _, j := range jobs {
		if j.Starts > 1 {
			t.Fatalf("the job %d was begun %d times", j.ID, j.Starts)
		}
	}
	return len(jobs) == count && !slices.ContainsFunc(jobs, func(j standin.Job) bool { return !j.Done })
}

// The whole story where the manager says which runner leaves: it stops it, and the
// host goes when the runner's process has ended by itself.
func TestAFleetGrowsForJobsOfReviewOSAndStopsWhatItDoesNotNeed(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	server := w.reviewed(1, 3)
	w.install()
	daemon := w.served()
	w.apply(0)
	eventually(t, "see the first runner idle", func() bool { return server.Count(reviewQueue, "idle") == 1 })
	for range 3 {
		server.Submit(reviewQueue, "sleep 2; echo ran >>"+w.path("ran"))
	}
	server.Submit("macos-arm64", "true")
	eventually(t, "see the queue that isn't mapped", func() bool {
		out := w.fleet(0, "explain", "demo").out
		return strings.Contains(out, "no_eligible_fleet") && strings.Contains(out, "macos-arm64")
	})
	w.mostHosts(3, "see the jobs done", func() bool { return allDone(t, server, 3) })
	if ran := w.read("ran"); strings.Count(ran, "ran") != 3 {
		t.Errorf("the jobs left %q", ran)
	}
	eventually(t, "see one host again", func() bool { return len(w.keys()) == 1 && len(w.instances()) == 1 })
	calls := strings.Join(server.Calls(), "\n")
	if made, stopped := strings.Count(
		calls,
		"create-runner ",
	), strings.Count(
		calls,
		"stop-runner ",
	); made != 3 || stopped < 2 ||
		strings.Contains(calls, "by force") {
		t.Errorf("%d runners were made and %d stops asked for:\n%s", made, stopped, calls)
	}
	if n := server.Count(reviewQueue, "lost"); n > 0 {
		t.Errorf("%d runners are lost to ReviewOS, which was told of each end", n)
	}
	daemon.stop()
	for _, secret := range []string{standin.MaintainerToken, standin.MetricsToken} {
		if strings.Contains(daemon.err.String()+daemon.heard(), secret) {
			t.Error("a token is in a log")
		}
	}
}

// Where the file wants no host without work the runner ends by itself, and its host
// after it.
func TestReviewOSFleetScalesToZero(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	server := w.reviewed(0, 2)
	w.install()
	w.served()
	w.apply(0)
	for range 2 {
		server.Submit(reviewQueue, "sleep 1")
	}
	eventually(t, "see the jobs done", func() bool { return allDone(t, server, 2) })
	w.mostHosts(2, "see the fleet empty", w.isEmpty)
	if out := w.fleet(0, "events").out; strings.Contains(out, "scale_down") {
		t.Errorf("the manager chose who leaves, and the runners know better:\n%s", out)
	}
}

// A manager that is killed has given each credential away and kept none: what runs
// continues, and no runner is admitted twice.
func TestAnotherManagerMakesNoSecondRunnerAtReviewOS(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	server := w.reviewed(1, 2)
	w.install()
	daemon := w.served()
	w.apply(0)
	eventually(t, "see the first runner idle", func() bool { return server.Count(reviewQueue, "idle") == 1 })
	server.Submit(reviewQueue, "sleep 5")
	eventually(t, "see the job run", func() bool { return server.Count(reviewQueue, "running") == 1 })
	daemon.stop()
	w.served()
	eventually(t, "see the job done", func() bool { return allDone(t, server, 1) })
	server.Submit(reviewQueue, "true")
	eventually(t, "see the next job done", func() bool { return allDone(t, server, 2) })
	if calls := server.Calls(); strings.Count(strings.Join(calls, "\n"), "create-runner ") != 1 {
		t.Errorf("the calls were %q", calls)
	}
}
