package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/problem"
	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

const token = "a-token-for-tests-alone"

// served is a queue on a real socket.
type served struct {
	*world
	url     string
	manager *forgeyard.Client
}

func serve(t testing.TB, change ...func(*queue.Options)) *served {
	t.Helper()
	w := newWorld(t, change...)
	listening := httptest.NewUnstartedServer(nil)
	url := "http://" + listening.Listener.Addr().String()
	server, err := queue.NewServer(w.Queue, url, token)
	if err != nil {
		t.Fatal(err)
	}
	listening.Config.Handler = server
	listening.Start()
	t.Cleanup(listening.Close)
	manager := forgeyard.New(url, func(context.Context) (string, error) { return token, nil }, time.Now)
	t.Cleanup(manager.Close)
	return &served{world: w, url: url, manager: manager}
}

// call makes one call and returns the status and the body.
func (s *served) call(bearer, method, path, body string) (int, string) {
	s.t.Helper()
	response := s.ask(bearer, method, path, body)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

func (s *served) ask(bearer, method, path, body string, header ...string) *http.Response {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	for n := 0; n+1 < len(header); n += 2 {
		request.Header.Set(header[n], header[n+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	return response
}

// credential is what a runner is given at its admission.
func (s *served) credential(runner string) string {
	s.t.Helper()
	got, err := s.manager.Admit(
		s.t.Context(),
		scheduler.Runner{
			Name:  fleet.CapacityInstanceID(runner),
			Class: fleet.CapacityClass{Platform: fleet.Platform{OS: "linux", Arch: "x86_64"}},
		},
	)
	if err != nil {
		s.t.Fatal(err)
	}
	return got.Environment[worker.TokenVariable]
}

var r1 = scheduler.Known{Name: "r1", Ref: "r1"}

func TestTheManagersClientAndTheQueueUnderstandEachOther(t *testing.T) {
	s, ctx := serve(t), t.Context()
	runner := scheduler.Runner{
		Name:     "r1",
		Fleet:    "fleet.a",
		Lifetime: fleet.LifetimePreemptible,
		MaxJobs:  4,
		Region:   "eu",
		Class: fleet.CapacityClass{
			Platform:     fleet.Platform{OS: "linux", Arch: "x86_64"},
			Trust:        "standard",
			Capabilities: []string{"docker"},
			Resources:    fleet.ResourceCapacity{CPUMilli: 4000, Slots: 2},
		},
	}
	first, err := s.manager.Admit(ctx, runner)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.manager.Admit(ctx, runner)
	if diff := cmp.Diff(first, again); diff != "" || err != nil {
		t.Errorf("admitted again it got another answer (%v): %s", err, diff)
	}
	want := map[string]string{
		worker.URLVariable:     s.url,
		worker.RunnerVariable:  "r1",
		worker.TokenVariable:   first.Environment[worker.TokenVariable],
		worker.SlotsVariable:   "2",
		worker.MaxJobsVariable: "4",
	}
	if diff := cmp.Diff(
		want,
		first.Environment,
	); diff != "" ||
		cmp.Diff([]string{"forgeyard-runner", "queue-worker"}, first.Command) != "" {
		t.Errorf("it runs %q with %s", first.Command, diff)
	}
	s.submit(
		queue.Submission{
			PreemptibleAllowed: true,
			Checkpoint:         true,
			Priority:           3,
			Requirement:        forgeyard.Requirement{OS: "linux", Capabilities: []string{"docker"}, Regions: []string{"eu"}},
			Resources:          forgeyard.Resources{CPUMilli: 1000, Named: map[string]int64{"x": 0}},
		},
	)
	s.hand.move(90 * time.Second)
	demand, err := s.manager.Demand(ctx)
	if err != nil {
		t.Fatal(err)
	}
	unplaced := []fleet.QueuedDemand{
		{
			Count:              1,
			Admissible:         1,
			OldestWait:         90 * time.Second,
			Priority:           3,
			PreemptibleAllowed: true,
			Checkpoint:         true,
			Requirement: fleet.SchedulingRequirementSet{
				OS:           "linux",
				Capabilities: []string{"docker"},
				Regions:      []string{"eu"},
			},
			Resources: fleet.ResourceCapacity{CPUMilli: 1000, Named: map[string]int64{"x": 0}},
		},
	}
	if diff := cmp.Diff(unplaced, demand.Queued); diff != "" {
		t.Error(diff)
	}
	if _, granted := s.lease("r1", "l1"); !granted {
		t.Error("the runner as it was admitted doesn't suit the job")
	}
	ack, err := s.manager.Stop(ctx, r1, scheduler.StopOrder{Cause: "scale_down"})
	if err != nil {
		t.Fatal(err)
	}
	listing, err := s.manager.Runners(ctx)
	if diff := cmp.Diff(
		[]fleet.RunningCapacityUsage{{Runner: "r1", Leases: 1, Cordoned: true}},
		listing.Runners,
	); diff != "" || err != nil ||
		listing.Revision < ack.Revision {
		t.Errorf("revision %d after %d, %v: %s", listing.Revision, ack.Revision, err, diff)
	}
	if back, err := s.manager.Uncordon(ctx, r1); err != nil || back.Revision <= ack.Revision {
		t.Errorf("uncordoned as of %d, %v", back.Revision, err)
	}
	for range 2 {
		if err := s.manager.Remove(ctx, r1, scheduler.RemovedInfrastructure); err != nil {
			t.Error(err)
		}
	}
	if j := s.job("job-1"); j.State != queue.Waiting || j.Losses != 1 {
		t.Errorf("the lost job is %+v", j)
	}
	if _, err := s.manager.Stop(ctx, r1, scheduler.StopOrder{}); !errors.Is(err, scheduler.ErrUnknownRunner) {
		t.Errorf("a forgotten runner's cordon: %v", err)
	}
}

func TestARunnersCredentialIsGoodForThatRunnersJobsAlone(t *testing.T) {
	s := serve(t)
	one, two := s.credential("r1"), s.credential("r2")
	s.submit(queue.Submission{})
	lease := `{"session":"s"}`
	for name, c := range map[string]struct {
		bearer, method, path, body string
		status                     int
	}{
		"its own lease":                   {one, "PUT", "/v1/runners/r1/leases/l1", lease, 200},
		"another runner's lease":          {one, "PUT", "/v1/runners/r2/leases/l2", lease, 403},
		"reading demand":                  {two, "GET", "/v1/capacity-demand", "", 403},
		"reading jobs":                    {two, "GET", "/v1/jobs", "", 403},
		"submitting":                      {two, "POST", "/v1/jobs", `{"command":["true"]}`, 403},
		"admitting itself":                {two, "PUT", "/v1/runners/r2", `{}`, 403},
		"uncordoning itself":              {two, "POST", "/v1/runners/r2/uncordon", "", 403},
		"the manager's token for a lease": {token, "PUT", "/v1/runners/r1/leases/l3", lease, 401},
		"a forged one": {strings.Replace(one, "r1", "r3", 1), "PUT", "/v1/runners/r3/leases/l1", lease,
			403},
		"none for demand":        {"", "GET", "/v1/capacity-demand", "", 401},
		"a wrong one for demand": {"no", "GET", "/v1/capacity-demand", "", 401},
		"none for a lease":       {"", "PUT", "/v1/runners/r1/leases/l4", lease, 401},
	} {
		if status, body := s.call(c.bearer, c.method, c.path, c.body); status != c.status || strings.Contains(body, token) {
			t.Errorf("%s: %d %s, want %d", name, status, body, c.status)
		}
	}
}

func TestEnvironmentOfAJobIsShownToItsRunnerAlone(t *testing.T) {
	s := serve(t)
	one := s.credential("r1")
	if status, body := s.call(
		token,
		"POST",
		"/v1/jobs",
		`{"command":["true"],"env":{"KEY":"the-secret"}}`,
	); status != 201 ||
		strings.Contains(body, "the-secret") {
		t.Errorf("the submitter got %d %s", status, body)
	}
	for _, path := range []string{"/v1/jobs", "/v1/jobs/job-1", "/v1/capacity-demand"} {
		if _, body := s.call(token, "GET", path, ""); strings.Contains(body, "the-secret") {
			t.Errorf("%s shows %s", path, body)
		}
	}
	if _, body := s.call(
		one,
		"PUT",
		"/v1/runners/r1/leases/l1",
		`{"session":"s"}`,
	); !strings.Contains(
		body,
		"the-secret",
	) {
		t.Errorf("the runner got %s", body)
	}
}

func TestABadRequestIsRefusedWithItsPlace(t *testing.T) {
	s := serve(t)
	one := s.credential("r1")
	for name, c := range map[string]struct {
		bearer, method, path, body string
		status                     int
		says                       string
	}{
		"a requirement that no one knows": {token, "POST", "/v1/jobs",
			`{"command":["x"],"requirement":{"os":"linux","mood":"good"}}`, 422, "requirement.mood"},
		"a resource that no one knows": {token, "POST", "/v1/jobs", `{"command":["x"],"resources":{"cpus":2}}`, 422,
			"resources.cpus"},
		"a member that no one knows": {token, "POST", "/v1/jobs", `{"command":["x"],"image":"y"}`, 422, `"image"`},
		"no command":                 {token, "POST", "/v1/jobs", `{}`, 422, "command:"},
		"a command that is a text": {token, "POST", "/v1/jobs", `{"command":"x y"}`, 422,
			"command: a list is expected, and it is a text"},
		"an os that is a number": {token, "POST", "/v1/jobs", `{"command":["x"],"requirement":{"os":3}}`, 422,
			"requirement.os: a text is expected, and it is a number"},
		"a size below zero": {token, "POST", "/v1/jobs", `{"command":["x"],"resources":{"cpu_milli":-1}}`, 422,
			"resources.cpu_milli is -1"},
		"a size beyond all": {token, "POST", "/v1/jobs",
			`{"command":["x"],"resources":{"memory_bytes":9223372036854775807}}`, 422, "resources.memory_bytes"},
		"an empty capability": {token, "POST", "/v1/jobs", `{"command":["x"],"requirement":{"capabilities":[""]}}`,
			422, "requirement: capabilities"},
		"the runner's own variables": {token, "POST", "/v1/jobs", `{"command":["x"],"env":{"FORGEYARD_JOB":"x"}}`, 422,
			`env["FORGEYARD_JOB"]`},
		"no JSON": {token, "POST", "/v1/jobs", `{"command":`, 400,
			"it ends in the middle of a value, after 11 bytes"},
		"a list":     {token, "POST", "/v1/jobs", `[]`, 400, "a JSON object"},
		"null":       {token, "POST", "/v1/jobs", `null`, 400, "a JSON object"},
		"two values": {token, "POST", "/v1/jobs", `{"command":["x"]} {}`, 400, "more than one"},
		"a body without end": {token, "POST", "/v1/jobs", `{"command":["` + strings.Repeat("x", 2<<20) + `"]}`, 413,
			"more than"},
		"a job that isn't there":  {token, "GET", "/v1/jobs/nope", "", 404, `"nope"`},
		"a path that isn't there": {token, "GET", "/v2/jobs", "", 404, "no such call: GET"},
		"a name that is none":     {token, "PUT", "/v1/runners/a%20b", `{}`, 400, "invalid name \"a b\" of a runner"},
		"a removal for no reason": {token, "DELETE", "/v1/runners/r1", "", 422, "reason:"},
		"an unknown fact of a runner": {token, "PUT", "/v1/runners/r2", `{"os":"linux","only_on":"monday"}`, 422,
			`"only_on"`},
		"a runner below zero": {token, "PUT", "/v1/runners/r2", `{"resources":{"cpu_milli":-1}}`, 422, "negative"},
		"a wait without end": {one, "PUT", "/v1/runners/r1/leases/l1", `{"session":"s","wait_seconds":1e9}`, 422,
			"wait_seconds"},
		"a session without a name": {one, "PUT", "/v1/runners/r1/leases/l1", `{}`, 422, "session:"},
		"a lease that isn't there": {one, "POST", "/v1/runners/r1/leases/l1/finish", `{"exit_status":0,"reason":"x"}`, 410,
			`"l1"`},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := s.call(c.bearer, c.method, c.path, c.body)
			var refusal problem.Problem
			if err := json.Unmarshal(
				[]byte(body),
				&refusal,
			); err != nil || status != c.status || refusal.Status != status || !strings.Contains(refusal.Detail, c.says) ||
				len(body) > 1000 {
				t.Errorf("got %d %s\nwant %d with %q", status, body, c.status, c.says)
			}
		})
	}
}

func TestAReaderThatHasTheRevisionIsToldSo(t *testing.T) {
	s := serve(t)
	for _, path := range []string{"/v1/capacity-demand", "/v1/runners", "/v1/jobs"} {
		first := s.ask(token, "GET", path, "")
		tag := first.Header.Get("ETag")
		_ = first.Body.Close()
		again := s.ask(token, "GET", path, "", "If-None-Match", `"other", `+tag)
		_ = again.Body.Close()
		s.submit(queue.Submission{})
		changed := s.ask(token, "GET", path, "", "If-None-Match", tag)
		_ = changed.Body.Close()
		if first.StatusCode != 200 || again.StatusCode != 304 || changed.StatusCode != 200 ||
			changed.Header.Get("ETag") == tag {
			t.Errorf("%s (%s): %d, %d, and after a change %d", path, tag, first.StatusCode, again.StatusCode, changed.StatusCode)
		}
	}
}

func TestAShortTokenIsRefused(t *testing.T) {
	if _, err := queue.NewServer(
		newWorld(t).Queue,
		"http://127.0.0.1:1",
		"short",
	); err == nil ||
		!strings.Contains(err.Error(), "at least 16") {
		t.Errorf("got %v", err)
	}
}

func FuzzSubmit(f *testing.F) {
	f.Add(
		[]byte(
			`{"command":["go","test"],"requirement":{"os":"linux","capabilities":["docker"],"x":1},"resources":{"cpu_milli":1,"named":{"a":1}},"env":{"A":"b"},"priority":1}`,
		),
	)
	f.Add([]byte(`{"command":["x"],"requirement":null,"resources":{"named":null}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := newWorld(t)
		server, err := queue.NewServer(s.Queue, "http://127.0.0.1:1", token)
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequest("POST", "/v1/jobs", strings.NewReader(string(body)))
		request.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, request)
		jobs := s.List().Jobs
		if (answer.Code == 201) != (len(jobs) == 1) || answer.Code >= 500 {
			t.Fatalf("%d, and there are %d jobs: %s", answer.Code, len(jobs), answer.Body)
		}
		// Whatever was taken the manager must be able to read.
		content, err := json.Marshal(s.Demand())
		var demand forgeyard.Demand
		if err != nil || json.Unmarshal(content, &demand) != nil || len(demand.Queued) != len(jobs) {
			t.Fatalf("the demand is %s, %v", content, err)
		}
		for _, q := range demand.Queued {
			if len(q.Requirement.Unknown)+len(q.Resources.Unknown) > 0 {
				t.Fatalf("a requirement that no one understands was taken: %s", body)
			}
		}
	})
}
