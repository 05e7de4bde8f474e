package forgeyard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

var r1 = scheduler.Known{Name: "r1"}

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// talk is a scheduler that answers every call as told, and what it was asked.
func talk(t *testing.T, answer http.HandlerFunc) *forgeyard.Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	client := forgeyard.New(
		server.URL+"/",
		func(context.Context) (string, error) { return "the-token", nil },
		func() time.Time { return noon },
	)
	t.Cleanup(client.Close)
	return client
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if status >= 400 {
			w.Header().Set("Content-Type", "application/problem+json")
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func TestDemandIsReadAsTheSchedulerSaysIt(t *testing.T) {
	client := talk(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/capacity-demand" ||
			r.Header.Get("Authorization") != "Bearer the-token" {
			t.Errorf("asked %s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
		}
		fmt.Fprint(w, `{"revision": 41, "observed_at": "2026-11-01T12:00:01Z",
			"queued": [{"requirement": {"os": "linux", "arch": "x86_64", "capabilities": ["docker"], "trust": "standard", "tenant": "acme"},
				"resources": {"cpu_milli": 2000, "memory_bytes": 4294967296, "named": {"license": 1}},
				"count": 7, "admissible": 5, "oldest_wait_seconds": 94.5, "priority": 2, "preemptible_allowed": true}],
			"running": [{"runner": "r1", "leases": 1, "cordoned": true}]}`)
	})
	got, err := client.Demand(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := fleet.CapacityDemandSnapshot{
		ID: got.ID, Revision: 41, ObservedAt: noon,
		Queued: []fleet.QueuedDemand{
			{
				Requirement: fleet.SchedulingRequirementSet{
					OS:           "linux",
					Arch:         "x86_64",
					Capabilities: []string{"docker"},
					Trust:        "standard",
					Tenant:       "acme",
				},
				Resources: fleet.ResourceCapacity{
					CPUMilli:    2000,
					MemoryBytes: 4 << 30,
					Named:       map[string]int64{"license": 1},
				},
				Count:              7,
				Admissible:         5,
				OldestWait:         94500 * time.Millisecond,
				Priority:           2,
				PreemptibleAllowed: true,
			},
		},
		Running: []fleet.RunningCapacityUsage{{Runner: "r1", Leases: 1, Cordoned: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestARequirementThatIsNotUnderstoodIsKeptByName(t *testing.T) {
	client := talk(
		t,
		says(
			200,
			`{"revision": 1, "queued": [{"count": 1, "requirement": {"os": "linux", "quantum": true, "trust_zone": "x", "device": null, "color": null}, "resources": {"fpga": 2}}]}`,
		),
	)
	got, err := client.Demand(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(
		[]string{"quantum", "trust_zone", "resources.fpga"},
		got.Queued[0].Requirement.Unknown,
	); diff != "" {
		t.Error(diff)
	}
}

func TestImpossibleAnswersAreRefusedWithTheReason(t *testing.T) {
	many := strings.Repeat(`{"count":1},`, 1_000_000)
	long := strings.Repeat("x", 300)
	for name, test := range map[string]struct{ body, want string }{
		"a page":          {`<html>`, "GET /v1/capacity-demand: it is a page of HTML or XML"},
		"an empty body":   {``, "it is empty"},
		"not an object":   {`[]`, "an object is expected, and it is a list"},
		"no list of jobs": {`{"revision": 1}`, `no "queued"`},
		"a million groups": {`{"revision": 1, "queued": [` + strings.TrimSuffix(many, ",") + `]}`,
			"1000000 groups"},
		"fewer jobs than none":         {`{"queued": [{"count": -1}]}`, "count is -1"},
		"more jobs than anybody has":   {`{"queued": [{"count": 10000001}]}`, "count is 10000001"},
		"more admissible than waiting": {`{"queued": [{"count": 1, "admissible": 2}]}`, "admissible is 2 of 1"},
		"a number that is none":        {`{"queued": [{"count": NaN}]}`, "line 1, column 23, and 'N' is there"},
		"a number beyond all numbers": {`{"queued": [{"count": 1e400}]}`,
			"queued[0].count: a whole number is expected, and it is the number 1e400"},
		"a number as a text": {`{"queued": [{}, {"count": "7"}]}`,
			`queued[1].count: a whole number is expected, and it is the text "7"`},
		"half an answer": {`{"queued": [{"count": 1`, "it ends in the middle of a value, after 23 bytes"},
		"a size as a text": {`{"queued": [{"resources": {"cpu_milli": "2"}}]}`,
			`queued[0].resources.cpu_milli: a whole number is expected, and it is the text "2"`},
		"half a job": {`{"queued": [{"count": 1.5}]}`,
			"queued[0].count: a whole number is expected, and it is the number 1.5"},
		"an endless wait": {`{"queued": [{"count": 1, "oldest_wait_seconds": 1e300}]}`,
			"longer than anything"},
		"a wait that begins tomorrow": {`{"queued": [{"count": 1, "oldest_wait_seconds": -5}]}`,
			"oldest_wait_seconds is -5"},
		"a job without size": {`{"queued": [{"count": 1, "resources": {"cpu_milli": -1}}]}`,
			"resources.cpu_milli is -1"},
		"a job larger than all": {`{"queued": [{"count": 1, "resources": {"memory_bytes": 9223372036854775807}}]}`,
			"resources.memory_bytes is 9223372036854775807"},
		"a named resource below zero": {`{"queued": [{"count": 1, "resources": {"named": {"gpu": -2}}}]}`,
			`resources.named["gpu"] is -2`},
		"a requirement without end": {`{"queued": [{"count": 1, "requirement": {"tenant": "` + long + `"}}]}`,
			"tenant has 300 bytes"},
		"an empty capability": {`{"queued": [{"count": 1, "requirement": {"capabilities": [""]}}]}`,
			"capabilities: an entry"},
		"a revision below zero": {`{"revision": -1, "queued": []}`, "revision is -1"},
		"a snapshot from the future": {`{"observed_at": "2027-11-01T12:00:00Z", "queued": []}`,
			"observed_at is 2027-11-01T12:00:00Z"},
		"a runner with a negative lease": {`{"queued": [], "running": [{"runner": "a", "leases": -1}]}`, "-1 leases"},
		"a runner listed twice":          {`{"queued": [], "running": [{"runner": "a"}, {"runner": "a"}]}`, "listed twice"},
		"a runner without a name":        {`{"queued": [], "running": [{"leases": 1}]}`, "running[0]: a runner's name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := talk(t, says(200, test.body)).Demand(t.Context())
			nonsense := (*scheduler.NonsenseError)(nil)
			if !errors.As(err, &nonsense) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %.400v\nwant a NonsenseError with %q", err, test.want)
			}
			if err != nil && len(err.Error()) > 600 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestAnAdmittedRunnerIsTheInstanceAndCarriesNoClaimOfItsOwn(t *testing.T) {
	var body forgeyard.Admit
	client := talk(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut || r.URL.Path != "/v1/runners/01abc" {
			t.Errorf("asked %s %s", r.Method, r.URL)
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, `{"revision": 3, "environment": {"TOKEN": "secret"}, "command": ["worker"]}`)
	})
	got, err := client.Admit(t.Context(), scheduler.Runner{
		Name:     "01abc",
		Fleet:    "fleet.a",
		Lifetime: fleet.LifetimePreemptible,
		MaxJobs:  1,
		Scope:    fleet.FleetScope{Tenant: "acme"},
		Class: fleet.CapacityClass{
			Name:      "c",
			Platform:  fleet.Platform{OS: "linux", Arch: "x86_64"},
			Trust:     "standard",
			Resources: fleet.ResourceCapacity{CPUMilli: 4000, Slots: 2},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(
		scheduler.Admitted{
			Ref:         "01abc",
			Revision:    3,
			Environment: map[string]string{"TOKEN": "secret"},
			Command:     []string{"worker"},
		},
		got,
	); diff != "" {
		t.Error(diff)
	}
	want := forgeyard.Admit{
		Fleet:       "fleet.a",
		OS:          "linux",
		Arch:        "x86_64",
		Trust:       "standard",
		Tenant:      "acme",
		Preemptible: true,
		Slots:       2,
		MaxJobs:     1,
		Resources:   forgeyard.Resources{CPUMilli: 4000},
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
}

func TestCordonUncordonAndRemovalSayWhyAndSinceWhen(t *testing.T) {
	var asked []string
	client := talk(t, func(w http.ResponseWriter, r *http.Request) {
		body := new(strings.Builder)
		if _, err := fmt.Fprint(body, r.Method, " ", r.URL); err != nil {
			t.Error(err)
		}
		var cordon forgeyard.Cordon
		if json.NewDecoder(r.Body).Decode(&cordon) == nil {
			fmt.Fprintf(body, " %+v", cordon)
		}
		asked = append(asked, body.String())
		fmt.Fprint(w, `{"revision": 9}`)
	})
	ack, err := client.Stop(
		t.Context(),
		scheduler.Known{Name: "r 1"},
		scheduler.StopOrder{Cause: "interruption", Left: 90 * time.Second},
	)
	if err != nil || ack.Revision != 9 {
		t.Errorf("stop: %v %v", ack, err)
	}
	if ack, err := client.Uncordon(t.Context(), r1); err != nil || ack.Revision != 9 {
		t.Errorf("uncordon: %v %v", ack, err)
	}
	if err := client.Remove(t.Context(), r1, scheduler.RemovedInfrastructure); err != nil {
		t.Error(err)
	}
	want := []string{
		"POST /v1/runners/r%201/cordon {Cause:interruption Force:false DeadlineSeconds:90}",
		"POST /v1/runners/r1/uncordon",
		"DELETE /v1/runners/r1?reason=infrastructure",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsSayWhetherAskingAgainHelps(t *testing.T) {
	for name, test := range map[string]struct {
		answer  http.HandlerFunc
		refused bool
		unknown bool
		want    string
	}{
		"a wrong token": {says(401, `{"title":"no","status":401,"detail":"token is not known"}`), true, false,
			"token is not known"},
		"a runner never heard": {says(404, `{"title":"no","status":404,"detail":"no such runner"}`), false, true,
			"doesn't know the runner"},
		"a scheduler in repair": {says(503, `{"title":"no","status":503,"detail":"starting"}`), false, false, "503"},
		"a redirect":            {says(302, ``), false, false, "302"},
		"a redirect elsewhere": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://login.example/?next=1")
			w.WriteHeader(http.StatusFound)
		}, false, false, `302 Found, which sends to "https://login.example/?next=1"; that isn't followed`},
		"a proxy's page":    {says(502, "<html>\x1b[31m"), false, false, "502 Bad Gateway"},
		"a terminal's trap": {says(409, `{"title":"no","status":409,"detail":"a\u001b[31mb\nc"}`), true, false, "a [31mb c"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := talk(t, test.answer).Stop(t.Context(), r1, scheduler.StopOrder{})
			refused := (*scheduler.RefusedError)(nil)
			if errors.As(err, &refused) != test.refused || errors.Is(err, scheduler.ErrUnknownRunner) != test.unknown ||
				err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRemovingWhatIsForgottenIsNoError(t *testing.T) {
	if err := talk(t, says(404, `{}`)).Remove(t.Context(), r1, scheduler.RemovedNormally); err != nil {
		t.Error(err)
	}
}

func TestTheTokenIsInNoError(t *testing.T) {
	client := forgeyard.New(
		"http://127.0.0.1:1",
		func(context.Context) (string, error) { return "the-token", nil },
		time.Now,
	)
	_, err := client.Demand(t.Context())
	if err == nil || strings.Contains(err.Error(), "the-token") || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
}

func FuzzDemand(f *testing.F) {
	f.Add(
		[]byte(
			`{"revision": 41, "queued": [{"requirement": {"os": "linux", "x": 1}, "resources": {"cpu_milli": 1, "named": {"a": 1}}, "count": 7, "admissible": 5}], "running": [{"runner": "a", "leases": 1}]}`,
		),
	)
	f.Fuzz(func(t *testing.T, body []byte) {
		client := talk(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
		snapshot, err := client.Demand(t.Context())
		if err != nil {
			return
		}
		if err := snapshot.Check(); err != nil {
			t.Errorf("a snapshot that makes no sense was taken: %v", err)
		}
	})
}
