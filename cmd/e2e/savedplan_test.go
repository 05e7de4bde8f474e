//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/api"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
)

// Two operators plan from one definition. The first applies; the second's plan
// would undo that, and the refusal says whose change it is.
func TestOfTwoOperatorsAtOnceTheSecondHearsWhatTheFirstChanged(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	d := definition{min: 1, max: 2}
	w.write(d.String())
	w.install()
	daemon := w.served()
	w.apply(0)
	far, url := w.remote(daemon, "fleet.manage,fleet.read")

	a, b := d, d
	a.max, b.min = 3, 2
	w.write(a.String())
	w.fleet(0, "plan", "--out", w.path("a.plan"))
	w.write(b.String())
	far.fleet(0, "plan", "--out", w.path("b.plan"), "--server", url)

	w.fleet(0, "apply", "--auto-approve", w.path("a.plan"))
	stale := far.fleet(1, "apply", "--auto-approve", "--server", url, w.path("b.plan"))
	here := w.fleet(1, "apply", "--auto-approve", w.path("b.plan"))
	for _, r := range []result{stale, here} {
		for _, want := range []string{"the plan is stale: fleet.demo was changed", " applied definition 2 at 20",
			"change fleet.demo (scaling.max)", "Plan again"} {
			if !strings.Contains(r.err, want) {
				t.Errorf("the refusal lacks %q:\n%s", want, r.err)
			}
		}
	}
	if code, p := w.post(
		t,
		"b.plan",
	); code != http.StatusPreconditionFailed || p.Code != "stale" || p.Stale == nil || p.Stale.Serial != 2 ||
		p.Stale.By == "" ||
		p.Stale.At.IsZero() {
		t.Errorf("through the API it is %d %+v", code, p)
	}
	if code, p := w.post(t, "a.plan"); code != http.StatusConflict || !strings.Contains(p.Detail, "used already") {
		t.Errorf("a used plan is %d %+v through the API", code, p)
	}
	w.shouldHave(1)
	daemon.stop()
}

// post sends a plan file to the daemon's socket, as a program would.
func (w *workspace) post(t *testing.T, name string) (int, api.Problem) {
	t.Helper()
	saved, err := plans.ReadFile(w.path(name))
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(api.ApplyRequest{Submission: saved.Submission, Approval: saved.Plan.Approval})
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := filepath.Glob(filepath.Join(w.run, "forgeyard-fleet", "*", "api.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("the daemon's sockets are %v, %v", sockets, err)
	}
	client := http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", sockets[0])
			},
		},
	}
	response, err := client.Post("http://manager/v1/apply", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var p api.Problem
	if err := json.NewDecoder(response.Body).Decode(&p); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, p
}

// What changes while the question waits isn't what was shown.
func TestWhatChangesWhileTheQuestionWaitsIsNotApplied(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 1}.String())
	w.install()
	daemon := w.served()
	w.apply(0)
	w.write(definition{min: 1, max: 3}.String())
	w.fleet(0, "plan", "--out", w.path("other.plan"))
	w.write(definition{min: 1, max: 2}.String())
	code, out := w.inTerminalAfter(
		func() { w.fleet(0, "apply", "--auto-approve", w.path("other.plan")) },
		"yes\n",
		"apply",
	)
	if code != 1 || !strings.Contains(out, "the plan is stale: fleet.demo was changed") ||
		!strings.Contains(out, "scaling.max") {
		t.Errorf("it ended with %d:\n%s", code, out)
	}
	daemon.stop()
}

// Where no manager runs, the process of the apply is one for as long as it takes.
func TestASavedPlanIsAppliedOnAnotherDayWithoutItsFiles(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 1}.String() + "\nvariable \"key\" {\n  sensitive = true\n}\n")
	w.install()
	r := w.fleet(2, "plan", "--detailed-exitcode", "--out", w.path("first.plan"), "--var", "key=PLANTED-key")
	if strings.Contains(w.read("first.plan"), "PLANTED") {
		t.Error("the plan file holds the value of a sensitive variable")
	}
	if err := os.Remove(w.path("fleet/fleet.hcl")); err != nil {
		t.Fatal(err)
	}
	if shown := w.fleet(
		0,
		"show",
		w.path("first.plan"),
	); shown.out != r.out ||
		!strings.Contains(shown.err, "set its sensitive variables again: key") {
		t.Errorf("planned\n%s\nshown\n%s%s", r.out, shown.out, shown.err)
	}
	if r := w.fleet(1, "apply", "--auto-approve", w.path("first.plan")); !strings.Contains(r.err, "needs key") {
		t.Errorf("without the sensitive variable: %s", r.err)
	}
	applied := w.fleet(0, "apply", "--json", "--auto-approve", "--var", "key=PLANTED-key", w.path("first.plan"))
	var types []string
	for line := range strings.Lines(applied.out) {
		var one struct {
			Type, To string
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		types = append(types, one.Type+one.To)
	}
	if got := strings.Join(
		types,
		" ",
	); !strings.HasPrefix(got, "version plan applied instancerequested") ||
		!strings.HasSuffix(got, "instancehealthy summary") {
		t.Errorf("the lines are %s", got)
	}
	if r := w.fleet(
		1,
		"apply",
		"--auto-approve",
		"--var",
		"key=x",
		w.path("first.plan"),
	); !strings.Contains(
		r.err,
		"used already",
	) {
		t.Errorf("the second use: %s", r.err)
	}
	w.mustNotHold("PLANTED-key")
	w.write(definition{min: 1, max: 1}.String())
	w.shouldHave(1)
}
