package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/ordertest"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// same compares what came through with what was sent. An empty list may arrive
// as none.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(plans.Plan{})); diff != "" {
		t.Errorf("%s (-sent +came through):\n%s", what, diff)
	}
}

func submission() plans.Submission {
	return plans.Submission{
		Sources: []config.Source{{Name: "a.hcl", Bytes: []byte("fleet \"x\" {}\n\x00\xff")}, {Name: "empty.hcl"}},
		Lock:    "lock",
		Variables: config.Variables{
			Assignments: []string{"a=b"},
			Files:       []config.Source{{Name: "v"}},
			Environment: []string{"FLEET_VAR_a=1"},
		},
		Prune: true,
	}
}

func TestTheClientIsTheServiceThatItAsks(t *testing.T) {
	s := lab()
	s.history = query.History{Instances: s.instances, Next: "if1"}
	s.plan = plans.Plan{
		Installation: "lab",
		Serial:       7,
		Unresolved:   1,
		Changes: []config.Change{
			{
				Action:     config.Modify,
				Address:    "fleet.linux",
				Attributes: []config.AttributeChange{{Path: "a", Old: "1", New: "<2>"}},
			},
		},
		Preview: planner.Output{
			Fleets: []planner.FleetPlan{
				{
					Fleet:        "f1",
					Address:      "fleet.linux",
					Desired:      2,
					Create:       1,
					CreateReason: reason.Plain("1 wanted."),
					Actions:      []planner.Action{{Kind: planner.Drain, Instance: "i", Cause: "surplus", Reason: reason.Plain("r")}},
					Waiting: []reason.Reason{
						reason.Of(reason.FleetFrozen{}),
					},
					Drifted: []planner.Drift{{Instance: "i", Reason: reason.Plain("r")}},
				},
			},
		},
	}
	eachSurface(t, s, func(t *testing.T, c *Client) {
		ctx := t.Context()
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		plan, err := c.Plan(ctx, submission())
		ok(err)
		same(t, "the plan", s.plan, plan)
		same(t, "the submission", []any{submission()}, s.heard())

		approval := plans.Approval{
			Serial:   7,
			Format:   plans.Format,
			Lock:     "l",
			Settings: "s",
			Fleets:   map[fleet.FleetAddress]int64{`fleet.each["a"]`: 3},
		}
		receipt, err := c.Apply(ctx, submission(), approval)
		ok(err)
		same(t, "the receipt", s.receipt, receipt)
		same(t, "what was approved", []any{submission(), approval}, s.heard())
		_, err = c.Apply(ctx, plans.Submission{}, plans.Approval{})
		ok(err)

		fleets, err := c.Fleets(ctx)
		ok(err)
		same(t, "fleets", s.fleets, fleets)
		instances, err := c.Instances(ctx)
		ok(err)
		same(t, "instances", []view.Instance{s.instances[1], s.instances[0]}, instances) // by fleet
		asked := query.HistoryFilter{Fleet: "linux", State: fleet.Terminated, Before: "ix", Limit: 5}
		history, err := c.History(ctx, asked)
		ok(err)
		same(t, "the history", s.history, history)
		same(t, "what of it", []any{asked}, s.heard())
		_, err = c.History(ctx, query.HistoryFilter{})
		ok(err)
		same(t, "the usual history", []any{query.HistoryFilter{Limit: 100}}, s.heard())
		instance, err := c.Instance(ctx, "if1")
		ok(err)
		same(t, "an instance", s.instances[0], instance)
		decisions, err := c.Decisions(ctx, `fleet.each["a"]`, 5)
		ok(err)
		same(t, "decisions", s.decisions, decisions)
		same(t, "whose decisions", []any{fleet.FleetAddress(`fleet.each["a"]`), 5}, s.heard())

		wanted := query.EventFilter{Fleet: `fleet.each["a"]`, Since: now.Add(time.Microsecond), Limit: 5}
		events, err := c.Events(ctx, wanted)
		ok(err)
		same(t, "events", s.events, events)
		same(t, "which events", []any{wanted}, s.heard())
		_, err = c.Events(ctx, query.EventFilter{})
		ok(err)
		same(t, "the usual events", []any{query.EventFilter{Limit: 100}}, s.heard())

		unrecorded, err := c.Unrecorded(ctx)
		ok(err)
		same(t, "what has no record", s.unrecorded, unrecorded)
		for _, o := range []any{
			orders.ResolveRequest{Instance: "if1", Outcome: orders.Created, Resource: "vm-1"},
			orders.ResolveRequest{Instance: "if1", Outcome: orders.NotCreated},
			orders.ResolveRequest{Instance: "i/1", Outcome: orders.Gone}, ordertest.Replaced{Instance: "if1"},
			orders.DrainRequest{Instance: "if1"}, orders.DrainRequest{Instance: "if1", Force: true},
			orders.AdoptRequest{Provider: "local.here", Resource: "x/y z", Fleet: `fleet.each["a"]`},
		} {
			receipt, err := ordertest.Give(ctx, c.Orders(), o)
			ok(err)
			same(t, "the order", []any{o}, s.heard())
			same(t, "its receipt", any(orders.InstanceReceipt{Instance: "if1", Done: "it drains"}), receipt)
		}

		newToken := access.NewToken{
			Name:        "ci",
			Permissions: []access.Permission{access.ReadFleets},
			Fleets:      []fleet.FleetAddress{"fleet.linux"},
			For:         time.Hour,
		}
		token, shown, err := c.CreateToken(ctx, newToken)
		ok(err)
		same(t, "the token", s.token, token)
		same(t, "the secret", secret, shown)
		same(t, "the asked token", []any{newToken}, s.heard())
		all, err := c.Tokens(ctx)
		ok(err)
		same(t, "tokens", []access.Token{s.token}, all)
		ok(c.DeleteToken(ctx, "ci"))
		same(t, "whom to revoke", []any{"ci"}, s.heard())
		audit, err := c.Audit(ctx, 3)
		ok(err)
		same(t, "the audit", s.audit, audit)
		same(t, "how much of it", []any{3}, s.heard())
		refusals, err := c.Refusals(ctx)
		ok(err)
		same(t, "the refusals", s.refusals, refusals)
		keys, err := c.Keys(ctx)
		ok(err)
		same(t, "the keys", s.keys, keys)
		key, err := c.RotateKey(ctx, "authority")
		ok(err)
		same(t, "the new key", s.keys[0], key)
		same(t, "which to rotate", []any{"authority"}, s.heard())
		ok(c.DeleteKey(ctx, "k1"))
		same(t, "which to drop", []any{"k1"}, s.heard())
		same(t, "about", About{Version: "0.1.0", PlanFormat: plans.Format}, c.About())
	})
}

func TestTheClientReadsAllPagesOfInstances(t *testing.T) {
	s := lab()
	s.instances = nil
	for n := range 2*maxPage + 1 {
		s.instances = append(
			s.instances,
			view.Instance{
				ID:      fleet.CapacityInstanceID(fmt.Sprintf("i%05d", n)),
				Fleet:   "fleet.linux",
				Created: now.Add(time.Duration(n/3) * time.Second),
			},
		)
	}
	got, err := dial(t, onSocket(t, handler(s, nil))).Instances(t.Context())
	if err != nil || len(got) != len(s.instances) {
		t.Fatalf("%d instances, %v", len(got), err)
	}
	for n, i := range got {
		if i.ID != s.instances[n].ID {
			t.Fatalf("instance %d is %s", n, i.ID)
		}
	}
}

// failures are the errors that commands decide on, and one that they can't.
func failures() []error {
	return []error{
		config.Diagnostics{
			{
				Severity: config.Error,
				Summary:  "s",
				Detail:   "d",
				Block:    "b",
				Range:    config.Range{File: "a.hcl", Line: 1, Column: 2, EndLine: 1, EndColumn: 3},
				Snippet:  config.Snippet{Before: "a", Marked: "<b>"},
			},
			{Severity: config.Warning, Summary: "w"},
		},
		&plans.StaleError{
			By:      "ada",
			At:      now,
			Serial:  8,
			Changes: []config.Change{{Action: config.Create, Address: "fleet.mac"}},
			Reason:  "it was made from definition 7",
		},
		&access.DeniedError{Caller: "ada", UseCase: "apply", Needs: access.ManageFleets, Fleet: "fleet.mac"},
		&access.DeniedError{Caller: "ada", UseCase: "apply", Needs: access.ManageFleets},
		&access.NotFoundError{ID: "x"},
		&access.NotFoundError{Kind: "token", ID: "x"},
		&access.InvalidError{Reason: "not like this"},
		&access.ConflictError{Reason: "not now"},
		access.ErrUnauthenticated,
	}
}

func TestEveryMethodFailsAsItsServiceDid(t *testing.T) {
	s := lab()
	eachSurface(t, s, func(t *testing.T, c *Client) {
		ctx := t.Context()
		methods := map[string]func() error{
			"Plan":      func() error { _, err := c.Plan(ctx, submission()); return err },
			"Apply":     func() error { _, err := c.Apply(ctx, submission(), plans.Approval{}); return err },
			"Fleets":    func() error { _, err := c.Fleets(ctx); return err },
			"Instances": func() error { _, err := c.Instances(ctx); return err },
			"Decisions": func() error { _, err := c.Decisions(ctx, "fleet.linux", 1); return err },
			"Events":    func() error { _, err := c.Events(ctx, query.EventFilter{}); return err },
			"History":   func() error { _, err := c.History(ctx, query.HistoryFilter{}); return err },
			"CreateToken": func() error {
				_, _, err := c.CreateToken(ctx, access.NewToken{Name: "x", Permissions: []access.Permission{access.ReadFleets}})
				return err
			},
			"Tokens":      func() error { _, err := c.Tokens(ctx); return err },
			"DeleteToken": func() error { return c.DeleteToken(ctx, "x") },
			"Audit":       func() error { _, err := c.Audit(ctx, 1); return err },
			"Watch": func() error {
				for _, err := range c.Watch(ctx) {
					return err
				}
				return nil
			},
		}
		for _, want := range failures() {
			s.err = want
			for name, method := range methods {
				got := method()
				if errors.Is(want, access.ErrUnauthenticated) {
					if !errors.Is(got, want) {
						t.Errorf("%s: got %v", name, got)
					}
					continue
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-service +client):\n%s", name, diff)
				}
			}
		}
		s.err = nil
		if _, err := c.Instance(ctx, "nobody's"); !cmp.Equal(err, error(&access.NotFoundError{ID: "nobody's"})) {
			t.Errorf("Instance: %v", err)
		}
	})
	s.err = nil
}

func TestInternalErrorsAreShownOnlyToTheMachinesOwner(t *testing.T) {
	s := lab()
	c := map[string]*Client{
		"socket": dial(t, onSocket(t, handler(s, nil))),
		"tls":    dial(t, onTLS(t, handler(s, tokens{secret: everything}), secret)),
	}
	s.err = errors.New("the disk /dev/secret is full")
	for surface, told := range map[string]bool{"socket": true, "tls": false} {
		_, err := c[surface].Fleets(t.Context())
		p, ok := errors.AsType[*Problem](err)
		if !ok || p.Status != http.StatusInternalServerError || strings.Contains(p.Detail, "/dev/secret") != told {
			t.Errorf("over the %s: %v", surface, err)
		}
	}
	s.err = nil
}

func TestAClientSendsNothingToWhoeverIsNotTheManager(t *testing.T) {
	asked := 0
	h := NewHandler(Config{Service: lab(), Authenticate: func(context.Context, string) (access.Caller, error) {
		asked++
		return everything, nil
	}, Log: handler(nil, nil).config.Log, Now: time.Now})
	good := onTLS(t, h, secret)
	for name, change := range map[string]func(*Endpoint){
		"another fingerprint":      func(e *Endpoint) { e.CAFingerprint = "sha256:" + strings.Repeat("0", 64) },
		"no fingerprint":           func(e *Endpoint) { e.CAFingerprint = "" },
		"a certificate out of age": func(e *Endpoint) { e.Now = func() time.Time { return now.AddDate(1, 0, 0) } },
	} {
		e := good
		change(&e)
		_, err := Dial(t.Context(), e)
		if _, ok := errors.AsType[*UnreachableError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
		if _, ok := errors.AsType[*UntrustedError](err); !ok && e.CAFingerprint != "" {
			t.Errorf("%s: %v, want an UntrustedError", name, err)
		}
	}
	if asked > 0 {
		t.Errorf("the token was sent %d times", asked)
	}
	for name, e := range map[string]Endpoint{
		"http":                 {URL: "http://127.0.0.1:1", Token: secret},
		"no token":             {URL: "https://127.0.0.1:1"},
		"a path":               {URL: "https://127.0.0.1:1/v1", Token: secret},
		"a name in the URL":    {URL: "https://a:b@127.0.0.1:1", Token: secret},
		"a bad fingerprint":    {URL: "https://127.0.0.1:1", Token: secret, CAFingerprint: "sha1:00"},
		"a socket and a token": {Socket: "/x", Token: secret},
		"nothing":              {},
	} {
		_, err := Dial(t.Context(), e)
		if _, tried := errors.AsType[*UnreachableError](err); err == nil || tried || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDialSaysWhetherNobodyIsThereOrTheTokenIsNotAccepted(t *testing.T) {
	e := onTLS(t, handler(lab(), nil), "fyk_wrong")
	if _, err := Dial(t.Context(), e); !errors.Is(err, access.ErrUnauthenticated) {
		t.Errorf("a wrong token: %v", err)
	}
	_, err := Dial(t.Context(), Endpoint{Socket: "/nowhere/socket"})
	if gone, ok := errors.AsType[*UnreachableError](err); !ok || gone.At != "/nowhere/socket" {
		t.Errorf("no socket: %v", err)
	}
}

func TestAWatchYieldsWhatTheLoopDoesAndEndsWithItsContext(t *testing.T) {
	first := progress.Progress{
		At:     now,
		Serial: 7,
		States: map[fleet.CapacityInstanceState]int{fleet.Healthy: 2},
		Transitions: []loop.Transition{
			{Instance: "i", Fleet: "fleet.linux", From: fleet.Enrolling, To: fleet.Healthy, Reason: reason.Plain("line\nbreak")},
		},
		Holds:   map[fleet.RunnerFleetID]snapshot.Hold{"f1": {Until: now, Reason: reason.Plain("r"), NeedsPerson: true}},
		Blocked: map[fleet.ProviderAddress]string{"local.here": "why"},
	}
	s := lab()
	s.watch = func(ctx context.Context) iter.Seq2[progress.Progress, error] {
		return func(yield func(progress.Progress, error) bool) {
			if yield(first, nil) {
				<-ctx.Done()
			}
		}
	}
	eachSurface(t, s, func(t *testing.T, c *Client) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var got []progress.Progress
		for p, err := range c.Watch(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p)
			cancel()
		}
		same(t, "progress", []progress.Progress{first}, got)
		for range c.Watch(t.Context()) {
			break // must end the stream: goleak looks
		}
	})
}

func TestAWatchThatIsCutOffEndsWithAnError(t *testing.T) {
	s := lab()
	s.watch = func(ctx context.Context) iter.Seq2[progress.Progress, error] {
		return func(yield func(progress.Progress, error) bool) { yield(progress.Progress{At: now}, nil) }
	}
	var errs []error
	for _, err := range dial(t, onSocket(t, handler(s, nil))).Watch(t.Context()) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if _, ok := errors.AsType[*UnreachableError](errors.Join(errs...)); !ok || len(errs) != 1 {
		t.Errorf("got %v", errs)
	}
}

func TestAnAnswerThatIsNotOfAManagerIsSaidToBeNone(t *testing.T) {
	c := &Client{at: "here", base: "http://here", http: &http.Client{Transport: answers(func() *http.Response {
		return &http.Response{
			StatusCode: http.StatusBadGateway,
			Status:     "502 Bad Gateway",
			Header:     http.Header{"Content-Type": {"text/html"}},
			Body:       io.NopCloser(strings.NewReader("<html>")),
		}
	})}}
	_, err := c.Fleets(t.Context())
	if _, ok := errors.AsType[*UnreachableError](err); !ok || !strings.Contains(err.Error(), "502 Bad Gateway") {
		t.Errorf("got %v", err)
	}
}

type answers func() *http.Response

func (a answers) RoundTrip(*http.Request) (*http.Response, error) { return a(), nil }
