package reviewos_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/reviewos"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/standin"
)

const large = "linux-x64-large"

func class(name string) fleet.CapacityClass {
	return fleet.CapacityClass{
		Name:         name,
		Platform:     fleet.Platform{OS: "linux", Arch: "x86_64"},
		Trust:        "standard",
		Capabilities: []string{"docker", "git"},
		Resources:    fleet.ResourceCapacity{CPUMilli: 4000},
	}
}

// world is a stand-in, a client of it, and the time that both have.
type world struct {
	t      *testing.T
	now    time.Time
	server *standin.Server
	client *reviewos.Client
}

func token(secret string) reviewos.Token {
	return func(context.Context) (string, error) { return secret, nil }
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return w.now }
	w.server = standin.New(t, clock)
	w.client = reviewos.New(
		reviewos.Config{
			URL:     w.server.URL,
			Fleet:   token(standin.MaintainerToken),
			Metrics: token(standin.MetricsToken),
			Clock:   clock,
			Queues: []fleet.SchedulerQueue{
				{
					Name:   large,
					ID:     7,
					Class:  class("large"),
					Labels: []string{"ubuntu-latest", "self-hosted"},
					Tags:   map[string]string{"region": "ash"},
				},
			},
		},
	)
	t.Cleanup(w.client.Close)
	return w
}

func (w *world) demand() fleet.CapacityDemandSnapshot {
	w.t.Helper()
	s, err := w.client.Demand(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) group(queue string) fleet.QueuedDemand {
	w.t.Helper()
	for _, g := range w.demand().Queued {
		if g.Requirement.Queue == queue {
			return g
		}
	}
	w.t.Fatalf("no group of the queue %s", queue)
	return fleet.QueuedDemand{}
}

func (w *world) admit(name string) (scheduler.Admitted, scheduler.Known) {
	w.t.Helper()
	a, err := w.client.Admit(
		w.t.Context(),
		scheduler.Runner{Name: fleet.CapacityInstanceID(name), Class: class("large"), Attempt: 1},
	)
	if err != nil {
		w.t.Fatal(err)
	}
	return a, scheduler.Known{Name: fleet.CapacityInstanceID(name), Ref: a.Ref}
}

func (w *world) poll(a scheduler.Admitted) (*standin.Job, bool) {
	w.t.Helper()
	job, stop, err := w.server.Poll(a.Environment["RUNNER_TOKEN"])
	if err != nil {
		w.t.Fatal(err)
	}
	return job, stop
}

func TestRunnerIsUsableOnlyIdleOrRunning(t *testing.T) {
	w := newWorld(t)
	usable := func(want, jobs int, when string) {
		t.Helper()
		if u := w.group(large).Unlisted; u.Usable != want || u.Jobs != jobs {
			t.Errorf("%s: %d usable runners with %d jobs, want %d with %d", when, u.Usable, u.Jobs, want, jobs)
		}
	}
	a, known := w.admit("i1")
	usable(0, 0, "never seen")
	w.poll(a)
	usable(1, 0, "idle")
	id := w.server.Submit(large, "")
	if g := w.group(large); g.Count != 1 || g.Admissible != 1 {
		t.Errorf("%d jobs wait, %d admissible; want 1", g.Count, g.Admissible)
	}
	if job, _ := w.poll(a); job == nil || job.ID != id {
		t.Fatal("the runner got no job")
	}
	usable(1, 1, "running")
	w.now = w.now.Add(2 * time.Minute)
	usable(0, 1, "lost")
	w.poll(a)
	w.server.Disable(w.server.Runners()[0].ID, true)
	usable(0, 1, "disabled")
	w.server.Disable(w.server.Runners()[0].ID, false)
	if _, err := w.client.Stop(t.Context(), known, scheduler.StopOrder{}); err != nil {
		t.Fatal(err)
	}
	usable(0, 1, "stopping")
	if job, _ := w.poll(a); job == nil || w.server.Jobs()[0].Starts != 1 {
		t.Error("a graceful stop took the job away")
	}
	if err := w.server.Finish(a.Environment["RUNNER_TOKEN"], id); err != nil {
		t.Fatal(err)
	}
	w.server.Submit(large, "")
	if job, stop := w.poll(a); job != nil || !stop {
		t.Errorf("a stopped runner got the job %v, and stop = %t", job, stop)
	}
}

func TestAStopByForcePutsTheJobBackIntoTheQueue(t *testing.T) {
	w := newWorld(t)
	a, known := w.admit("i1")
	w.server.Submit(large, "")
	w.poll(a)
	if _, err := w.client.Stop(t.Context(), known, scheduler.StopOrder{Force: true}); err != nil {
		t.Fatal(err)
	}
	if g := w.group(large); g.Count != 1 || g.Unlisted.Jobs != 0 {
		t.Errorf("%d wait and %d run, want the job back in the queue", g.Count, g.Unlisted.Jobs)
	}
}

func TestEveryMissingSeriesIsBlindnessAndNeverZero(t *testing.T) {
	w := newWorld(t)
	for _, series := range []string{
		"reviewos_ci_jobs_waiting{", "reviewos_ci_jobs_running{", "reviewos_ci_jobs_oldest_waiting_seconds{",
		`lifecycle="idle"`, `lifecycle="running"`,
		`lifecycle="stopping"`, `lifecycle="lost"`, `lifecycle="disabled"`, `lifecycle="never-seen"`, large, "reviewos_ci_",
	} {
		w.server.Metrics(func(text string) string {
			var kept []string
			for line := range strings.Lines(text) {
				if !strings.Contains(line, series) ||
					series != large && series != "reviewos_ci_" && !strings.Contains(line, large) {
					kept = append(kept, line)
				}
			}
			return strings.Join(kept, "")
		})
		_, err := w.client.Demand(t.Context())
		if nonsense := (*scheduler.NonsenseError)(nil); !errors.As(err, &nonsense) {
			t.Errorf("without %s: %v", series, err)
		}
	}
}

func TestHostileMetricsAreRefusedWhole(t *testing.T) {
	w := newWorld(t)
	const good = `reviewos_ci_jobs_waiting{queue="linux-x64-large"} 0`
	for name, line := range map[string]string{
		"not a number":      `reviewos_ci_jobs_waiting{queue="linux-x64-large"} NaN`,
		"infinite":          `reviewos_ci_jobs_waiting{queue="linux-x64-large"} +Inf`,
		"negative":          `reviewos_ci_jobs_waiting{queue="linux-x64-large"} -1`,
		"half a job":        `reviewos_ci_jobs_waiting{queue="linux-x64-large"} 0.5`,
		"beyond all bounds": `reviewos_ci_jobs_waiting{queue="linux-x64-large"} 1e300`,
		"no value":          `reviewos_ci_jobs_waiting{queue="linux-x64-large"}`,
		"no end":            `reviewos_ci_jobs_waiting{queue="linux-x64-large`,
		"no queue":          `reviewos_ci_jobs_waiting 1`,
		"twice":             good + "\n" + good,
		"too many queues":   manyQueues(),
	} {
		w.server.Metrics(func(text string) string { return strings.Replace(text, good, line, 1) })
		_, err := w.client.Demand(t.Context())
		if nonsense := (*scheduler.NonsenseError)(nil); !errors.As(err, &nonsense) {
			t.Errorf("%s: %v", name, err)
		} else if len(err.Error()) > 500 {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
	}
	w.server.Metrics(func(string) string { return strings.Repeat("# a comment\n", 1<<20) })
	if _, err := w.client.Demand(t.Context()); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("12 MB: %v", err)
	}
}

func manyQueues() string {
	var text strings.Builder
	for n := range 20_000 {
		fmt.Fprintf(&text, "reviewos_ci_jobs_waiting{queue=\"q%d\"} 0\n", n)
	}
	return text.String()
}

func TestAQueueThatIsNotMappedCountsOnlyWhereJobsWaitInIt(t *testing.T) {
	w := newWorld(t)
	if n := len(w.demand().Queued); n != 1 {
		t.Errorf("%d groups without a job, want that of the mapped queue", n)
	}
	w.server.Submit("macos-arm64", "")
	w.server.Submit(standin.Unassigned, "")
	for _, queue := range []string{"macos-arm64", standin.Unassigned} {
		if g := w.group(queue); g.Admissible != 1 || g.Requirement.Class != "" || g.Unlisted != nil {
			t.Errorf("%s: %+v", queue, g)
		}
	}
}

func TestAPausedQueueIsNoDemand(t *testing.T) {
	w := newWorld(t)
	w.server.Submit(large, "")
	w.server.Change(func(s *reviewos.Shape) { s.Pools[0].Queues[0].State = reviewos.QueuePaused })
	if g := w.group(large); g.Count != 1 || g.Admissible != 0 {
		t.Errorf("%d wait, %d admissible, and the queue is paused", g.Count, g.Admissible)
	}
	w.server.Change(func(s *reviewos.Shape) { s.Pools[0].Queues[0].State = reviewos.QueueActive })
	w.now = w.now.Add(time.Minute)
	if g := w.group(large); g.Admissible != 1 {
		t.Error("there is no demand after the pause either")
	}
}

func TestLostRunnersThatBecomeMoreAreAConcernUntilTheyAreNot(t *testing.T) {
	w := newWorld(t)
	lost := func() bool {
		return slices.ContainsFunc(
			w.demand().Concerns,
			func(c fleet.DemandConcern) bool { return c.Kind == fleet.RunnersLost && c.Class == "large" },
		)
	}
	a, _ := w.admit("i1")
	w.poll(a)
	w.now = w.now.Add(2 * time.Minute)
	if lost() {
		t.Error("the first count must not be taken for a rise")
	}
	b, _ := w.admit("i2")
	w.poll(b)
	w.now = w.now.Add(2 * time.Minute)
	if !lost() {
		t.Error("a second lost runner must be a concern")
	}
	w.now = w.now.Add(20 * time.Minute)
	if lost() {
		t.Error("it has not risen for 20 minutes, and is still a concern")
	}
}

func TestCredentialsForMachinesThatNeverComeAreAConcern(t *testing.T) {
	w := newWorld(t)
	w.demand()
	var kinds []fleet.ConcernKind
	for n := range 3 {
		w.admit(fmt.Sprintf("i%d", n))
		kinds = nil
		for _, c := range w.demand().Concerns {
			kinds = append(kinds, c.Kind)
		}
	}
	if !slices.Contains(kinds, fleet.RunnersNeverSeen) {
		t.Errorf("3 runners never came, and the concerns are %v", kinds)
	}
}

func TestAdmittedRunnerIsNamedAndAssignedToItsQueue(t *testing.T) {
	w := newWorld(t)
	a, err := w.client.Admit(
		t.Context(),
		scheduler.Runner{Name: "i1", Class: class("large"), Attempt: 2, MaxJobs: 1, IdleTimeout: 90 * time.Second},
	)
	if err != nil {
		t.Fatal(err)
	}
	if calls := w.server.Calls(); !slices.Equal(calls, []string{"create-runner i1-2", "assign-runner i1-2"}) {
		t.Errorf("the calls were %q", calls)
	}
	r := w.server.Runners()[0]
	if r.Queue != 7 || r.Labels != "ubuntu-latest,self-hosted" {
		t.Errorf("the runner is %+v", r)
	}
	line := strings.Join(a.Command, " ")
	for _, part := range []string{"--url " + w.server.URL, "--jobs 1", "--labels ubuntu-latest,self-hosted",
		"--tags arch=x86_64,docker=yes,git=yes,os=linux,region=ash", "--idle-timeout 90"} {
		if !strings.Contains(line, part) {
			t.Errorf("the command has no %q: %s", part, line)
		}
	}
	if secret := a.Environment["RUNNER_TOKEN"]; secret == "" || strings.Contains(line, secret) {
		t.Error("the credential belongs in the environment of the command, not in its text")
	}
	if a.Environment["REVIEWOS_TARGET"] != "linux-x64" || !a.StoppedByScheduler {
		t.Errorf("%v, stopped by its scheduler: %t", a.Environment["REVIEWOS_TARGET"], a.StoppedByScheduler)
	}
}

func TestACertainNoIsToldFromAnAnswerThatIsLost(t *testing.T) {
	w := newWorld(t)
	admit := func() error {
		_, err := w.client.Admit(t.Context(), scheduler.Runner{Name: "i1", Class: class("large")})
		return err
	}
	refused := (*scheduler.RefusedError)(nil)
	unsent := (*scheduler.NotSentError)(nil)
	for name, one := range map[string]struct {
		failure standin.Failure
		certain bool
	}{
		"403":             {standin.Failure{Status: http.StatusForbidden}, true},
		"404":             {standin.Failure{Status: http.StatusNotFound}, true},
		"429":             {standin.Failure{Status: http.StatusTooManyRequests}, true},
		"500":             {standin.Failure{Status: http.StatusInternalServerError}, false},
		"502":             {standin.Failure{Status: http.StatusBadGateway}, false},
		"the answer lost": {standin.Failure{Lost: true}, false},
	} {
		w.server.Fail(func(string) standin.Failure { return one.failure })
		if err := admit(); err == nil || errors.As(err, &refused) != one.certain || errors.As(err, &unsent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// In no queue it is of no use, and it was made all the same.
	w.server.Fail(func(operation string) standin.Failure {
		if operation == "assign-runner" {
			return standin.Failure{Status: http.StatusForbidden}
		}
		return standin.Failure{}
	})
	_, err := w.client.Admit(t.Context(), scheduler.Runner{Name: "i9", Class: class("large")})
	if err == nil || errors.As(err, &refused) {
		t.Errorf("made and not assigned: %v", err)
	}
	unreachable := reviewos.New(
		reviewos.Config{URL: "http://127.0.0.1:1", Fleet: token("x"), Metrics: token("x"), Clock: time.Now,
			Queues: []fleet.SchedulerQueue{{Name: large, ID: 7, Class: class("large")}}},
	)
	if _, err := unreachable.Admit(
		t.Context(),
		scheduler.Runner{Name: "i1", Class: class("large")},
	); !errors.As(
		err,
		&unsent,
	) {
		t.Errorf("nothing listens, so nothing was sent: %v", err)
	}
}

func TestARunnerWhoseNumberWasLostIsUnknown(t *testing.T) {
	w := newWorld(t)
	for _, ref := range []fleet.SchedulerRunnerRef{"", "4711"} {
		known := scheduler.Known{Name: "i1", Ref: ref}
		if _, err := w.client.Stop(t.Context(), known, scheduler.StopOrder{}); !errors.Is(err, scheduler.ErrUnknownRunner) {
			t.Errorf("stop %q: %v", ref, err)
		}
		if err := w.client.Remove(t.Context(), known, scheduler.RemovedNormally); err != nil {
			t.Errorf("remove %q: %v", ref, err)
		}
	}
}

func TestEachTokenIsUsedForItsOwnCallsAndNoErrorTellsIt(t *testing.T) {
	const secret = "s3cret-unused"
	w := newWorld(t)
	wrong := reviewos.New(reviewos.Config{URL: w.server.URL, Fleet: token(secret), Metrics: token(secret), Clock: time.Now,
		Queues: []fleet.SchedulerQueue{{Name: large, ID: 7, Class: class("large")}}})
	_, demand := wrong.Demand(t.Context())
	_, admit := wrong.Admit(t.Context(), scheduler.Runner{Name: "i1", Class: class("large")})
	for name, err := range map[string]error{"demand": demand, "admit": admit} {
		if refused := (*scheduler.RefusedError)(nil); !errors.As(err, &refused) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoTokenFollowsARedirect(t *testing.T) {
	var stolen []string
	thief := httptest.NewServer(
		http.HandlerFunc(
			func(_ http.ResponseWriter, r *http.Request) { stolen = append(stolen, r.Header.Get("Authorization")) },
		),
	)
	defer thief.Close()
	bent := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer bent.Close()
	c := reviewos.New(reviewos.Config{URL: bent.URL, Fleet: token("a"), Metrics: token("b"), Clock: time.Now})
	if _, err := c.Demand(t.Context()); err == nil {
		t.Error("a redirect must not be followed")
	}
	if _, err := c.CreateToken(t.Context(), 3, 7, "x"); err == nil {
		t.Error("a redirect must not be followed")
	}
	if len(stolen) > 0 {
		t.Errorf("the redirect was followed with %q", stolen)
	}
}

func TestRegistrationTokenAdmitsUntilRevoked(t *testing.T) {
	w := newWorld(t)
	made, err := w.client.CreateToken(t.Context(), 3, 7, "us-east autoscaler")
	if err != nil {
		t.Fatal(err)
	}
	machine := reviewos.Registration{Name: "build-07", Labels: "ubuntu-latest,self-hosted", Tags: "gpu=a100,region=ash"}
	credential, err := w.client.Register(t.Context(), token(made.Token), machine)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.client.RevokeToken(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Register(t.Context(), token(made.Token), machine); err == nil {
		t.Error("a revoked token let a machine join")
	}
	w.server.Submit(large, "")
	if job, _, err := w.server.Poll(credential); err != nil || job == nil {
		t.Errorf("revoking interrupted who had joined: %v, %v", job, err)
	}
}

// Of two pools of one name the first was taken for the one that the file means.
func TestPoolsAndQueuesThatCannotBeAreNotGuessedAbout(t *testing.T) {
	queue := `{"pools": [{"id": 1, "name": "a", "queues": [%s]}]}`
	for name, test := range map[string]struct{ body, want string }{
		"two pools of one name": {`{"pools": [{"id": 1, "name": "a"}, {"id": 2, "name": "a"}]}`,
			`two pools are called "a"`},
		"a pool without a number": {`{"pools": [{"name": "a"}]}`, "pools[0].id is 0"},
		"a pool without a name":   {`{"pools": [{"id": 1}]}`, "pools[0] has no name"},
		"two queues of one name": {
			fmt.Sprintf(queue, `{"id": 1, "name": "q", "state": "active"}, {"id": 2, "name": "q", "state": "active"}`),
			`two queues of the pool "a" are called "q"`},
		"a queue below zero": {fmt.Sprintf(queue, `{"id": -5, "name": "q", "state": "active"}`),
			"pools[0].queues[0].id is -5"},
		"a number that is a text": {`{"pools": [{"id": "one", "name": "a"}]}`,
			`GET /api/instance/fleet: pools[0].id: a whole number is expected, and it is the text "one"`},
		"a page in the place of it": {`<html>`, "it is a page of HTML or XML"},
	} {
		server := httptest.NewServer(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, test.body) }),
		)
		client := reviewos.New(reviewos.Config{URL: server.URL, Fleet: token("x"), Metrics: token("x"), Clock: time.Now})
		_, err := client.Shape(t.Context())
		if nonsense := (*scheduler.NonsenseError)(
			nil,
		); !errors.As(err, &nonsense) ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v\nwant %s", name, err, test.want)
		}
		client.Close()
		server.Close()
	}
}
