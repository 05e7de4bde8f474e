package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/scheduler/reviewos"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/standin"
)

// pageFile is the fleet file of ReviewOS's own page.
const pageFile = `# fleet.yml
pools:
  - name: Deployment
    description: machines with the release credentials
    require_signed_steps: true
    queues:
      - name: linux-x64
      - name: macos-arm64
        state: paused
        reason: waiting for the new mac mini
    repositories:
      - acme/api
      - acme/web
`

// reviewosWorld is the command line beside a stand-in.
type reviewosWorld struct {
	t      *testing.T
	server *standin.Server
	folder string
}

func newReviewOSWorld(t *testing.T) *reviewosWorld {
	return &reviewosWorld{t: t, server: standin.New(t, time.Now), folder: t.TempDir()}
}

// run writes the file and runs a command with its path as the last word.
func (w *reviewosWorld) run(file string, args ...string) (code int, out, err string) {
	w.t.Helper()
	path := filepath.Join(w.folder, "fleet.yml")
	if file != "" {
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			w.t.Fatal(err)
		}
		args = append(args, path)
	}
	var stdout, stderr bytes.Buffer
	a := &app{
		in:      strings.NewReader(""),
		out:     &stdout,
		err:     &stderr,
		now:     time.Now,
		environ: func() []string { return nil },
		lookupEnv: func(name string) (string, bool) {
			value, found := map[string]string{"REVIEWOS_URL": w.server.URL, "REVIEWOS_TOKEN": standin.MaintainerToken}[name]
			return value, found
		},
	}
	code = a.run(w.t.Context(), append([]string{"reviewos"}, args...))
	return code, stdout.String(), stderr.String()
}

func TestReviewOSApplyIsIdempotent(t *testing.T) {
	w := newReviewOSWorld(t)
	if code, out, err := w.run(
		pageFile,
		"apply",
		"--plan",
	); code != 0 || !strings.Contains(out, `pause the queue "macos-arm64": waiting for the new mac mini`) ||
		len(w.server.Calls()) > 0 {
		t.Fatalf("%d, calls %q\n%s%s", code, w.server.Calls(), out, err)
	}
	if code, out, err := w.run(pageFile, "apply"); code != 0 || !strings.Contains(out, "changes made.") {
		t.Fatalf("%d\n%s%s", code, out, err)
	}
	pool := w.server.Shape().Pools[0]
	paused := slices.IndexFunc(pool.Queues, func(q reviewos.ShapeQueue) bool { return q.Name == "macos-arm64" })
	if !pool.RequireSignedSteps || pool.Description != "machines with the release credentials" ||
		!slices.Equal(pool.Repositories, []string{"acme/api", "acme/web"}) ||
		pool.Queues[paused].State != reviewos.QueuePaused ||
		pool.Queues[paused].Reason != "waiting for the new mac mini" ||
		!slices.ContainsFunc(pool.Queues, func(q reviewos.ShapeQueue) bool { return q.Name == "linux-x64" }) {
		t.Errorf("the pool is %+v", pool)
	}
	calls := len(w.server.Calls())
	code, out, _ := w.run(pageFile, "apply")
	if code != 0 || !strings.Contains(out, "No changes: the instance matches the file.") ||
		len(w.server.Calls()) != calls {
		t.Errorf("%d, %d calls more\n%s", code, len(w.server.Calls())-calls, out)
	}
}

func TestReviewOSApplyLeavesDriftAlone(t *testing.T) {
	w := newReviewOSWorld(t)
	w.server.Change(func(s *reviewos.Shape) {
		s.Pools[0].Repositories = append(s.Pools[0].Repositories, "acme/old")
		s.Pools[0].Queues[0].State, s.Pools[0].Queues[0].Reason = reviewos.QueuePaused, "a Friday"
		s.Pools = append(s.Pools, reviewos.ShapePool{ID: 90, Name: "Incident"})
	})
	before := w.server.Shape()
	code, out, err := w.run("pools:\n  - name: Deployment\n    queues:\n      - name: linux-x64-large\n", "apply")
	if code != 0 {
		t.Fatalf("%d\n%s", code, err)
	}
	for _, text := range []string{`the pool "Incident"`, `the queue "macos-arm64"`, "acme/old",
		`the pause of the queue "linux-x64-large" (a Friday)`} {
		if !strings.Contains(out, text) {
			t.Errorf("no %s in\n%s", text, out)
		}
	}
	if after := w.server.Shape(); len(after.Pools) != len(before.Pools) || len(after.Pools[0].Queues) != 2 ||
		len(w.server.Calls()) > 0 {
		t.Errorf("the calls were %q", w.server.Calls())
	}
}

func TestReviewOSApplyFinishesAPartialPool(t *testing.T) {
	w := newReviewOSWorld(t)
	file := strings.Replace(pageFile, "Deployment", "Release", 1)
	file = strings.Replace(file, "macos-arm64", "macos-release", 1)
	w.server.Fail(func(operation string) standin.Failure {
		if operation == "pause-queue" {
			return standin.Failure{Status: 500}
		}
		return standin.Failure{}
	})
	if code, _, err := w.run(file, "apply"); code != 1 || !strings.Contains(err, "the next apply makes the others") {
		t.Fatalf("%d\n%s", code, err)
	}
	w.server.Fail(nil)
	if code, out, err := w.run(file, "apply"); code != 0 {
		t.Fatalf("%d\n%s%s", code, out, err)
	}
	pool := w.server.Shape().Pools[1]
	if pool.Name != "Release" || len(pool.Queues) != 2 || pool.Queues[1].State != reviewos.QueuePaused ||
		len(pool.Repositories) != 2 ||
		!pool.RequireSignedSteps {
		t.Errorf("%+v", pool)
	}
}

func TestABadReviewOSFileSaysWhereWhatAndHow(t *testing.T) {
	w := newReviewOSWorld(t)
	for name, one := range map[string]struct{ file, want string }{
		"a key that no one knows": {"pools:\n  - name: A\n    require_signed_step: true\n",
			`:3:5: a pool has no key "require_signed_step"; did you mean "require_signed_steps"?`},
		"a queue's key": {"pools:\n  - name: A\n    queues:\n      - nam: b\n",
			`:4:9: a queue has no key "nam"; did you mean "name"?`},
		"nothing like it": {"fleets: []\n", `:1:1: the file has no key "fleets"`},
		"no reason": {"pools:\n  - name: A\n    queues:\n      - name: b\n        state: paused\n",
			`is paused without a reason`},
		"a reason without a pause": {"pools:\n  - name: A\n    queues:\n      - name: b\n        reason: x\n",
			`isn't paused`},
		"another state": {"pools:\n  - name: A\n    queues:\n      - name: b\n        state: pausd\n",
			`:5:16: state is "pausd"; it is active or paused`},
		"no list": {"pools: A\n", `:1:8: pools must be a list`},
		"no name": {"pools:\n  - description: x\n", `:2:5: a pool needs a name`},
		"no truth": {"pools:\n  - name: A\n    require_signed_steps: maybe\n",
			`:3:27: require_signed_steps must be true or false`},
		"a repository without owner": {"pools:\n  - name: A\n    repositories: [api]\n", `:3:20: "api" is not a repository`},
		"a pool twice":               {"pools:\n  - name: A\n  - name: A\n", `the pool "A" is listed twice`},
		"no YAML":                    {"pools:\n\t- x\n", "line 2"},
		"a second document": {"pools:\n  - name: A\n---\npools:\n  - name: B\n",
			":3:1: a second document begins here, which nothing would read"},
		"an empty file": {"# nothing\n", "the file is empty"},
	} {
		code, _, err := w.run(one.file, "apply")
		if code != 1 || !strings.Contains(err, one.want) || !strings.Contains(err, "fleet.yml") {
			t.Errorf("%s: %d, want %q in\n%s", name, code, one.want, err)
		}
	}
	if calls := w.server.Calls(); len(calls) > 0 {
		t.Errorf("calls were made: %q", calls)
	}
}

func TestReviewOSTokenIsShownOnceAndDeleted(t *testing.T) {
	w := newReviewOSWorld(t)
	code, out, told := w.run("", "token", "create", "us-east autoscaler", "--pool", "3", "--queue", "7")
	if secret := strings.TrimSpace(out); code != 0 || secret == "" || strings.Contains(told, secret) {
		t.Fatalf("%d\n%s%s", code, out, told)
	}
	_, rest, _ := strings.Cut(told, "reviewos token delete ")
	number := strings.TrimSpace(rest)
	if code, out, err := w.run("", "token", "delete", number); code != 0 {
		t.Errorf("%d\n%s%s", code, out, err)
	}
	if calls := w.server.Calls(); len(calls) != 2 || calls[1] != "revoke-token "+number {
		t.Errorf("the calls were %q", calls)
	}
}

func TestReviewOSTokenNeedsHTTPS(t *testing.T) {
	w := newReviewOSWorld(t)
	if code, _, err := w.run(
		pageFile,
		"apply",
		"--url",
		"http://reviewos.example",
	); code != 1 ||
		!strings.Contains(err, "must use https") {
		t.Errorf("%d\n%s", code, err)
	}
}
