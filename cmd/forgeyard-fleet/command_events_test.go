package main

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/query"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func second(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }

func happened(at int, kind query.EventKind, id, what string) query.Event {
	return query.Event{At: second(at), Kind: kind, ID: id, Fleet: "fleet.demo", What: what}
}

func stepped(at int, moves ...string) progress.Progress {
	p := progress.Progress{At: second(at)}
	for _, m := range moves {
		id, to, _ := strings.Cut(m, " ")
		p.Transitions = append(
			p.Transitions,
			loop.Transition{Instance: fleet.CapacityInstanceID(id), Fleet: "fleet.demo", To: fleet.CapacityInstanceState(to)},
		)
	}
	return p
}

// told are events as words.
func toldAs(events []query.Event) (words []string) {
	for _, e := range events {
		words = append(words, e.ID+" "+e.What)
	}
	return words
}

func TestWhoFollowsHearsOfEachEventOnceAndOfEveryMove(t *testing.T) {
	f := follower{query: query.EventFilter{Limit: 50}}
	steps := []struct {
		name     string
		progress progress.Progress
		stored   []query.Event
		want     []string
	}{
		{
			"the past, with a move since the watch began",
			stepped(10),
			[]query.Event{
				happened(5, query.DecisionEvent, "d1", "scale_up"),
				happened(6, query.MoveEvent, "i1", "healthy"),
				happened(11, query.MoveEvent, "i2", "provisioning"),
			},
			[]string{"d1 scale_up", "i1 healthy", "i2 provisioning"},
		},
		{
			"which the next step tells, too",
			stepped(12, "i2 provisioning", "i2 bootstrapping"),
			[]query.Event{
				happened(5, query.DecisionEvent, "d1", "scale_up"),
				happened(12, query.MoveEvent, "i2", "bootstrapping"),
			},
			[]string{"i2 bootstrapping"},
		},
		{
			"a decision before the moves that it led to",
			stepped(14, "i1 draining"),
			[]query.Event{
				happened(5, query.DecisionEvent, "d1", "scale_up"),
				happened(13, query.DecisionEvent, "d2", "scale_down"),
				happened(13, query.MoveEvent, "i1", "draining"),
			},
			[]string{"d2 scale_down", "i1 draining"},
		},
		{
			"an instance that came back is told of again",
			stepped(15, "i1 healthy"),
			[]query.Event{happened(13, query.DecisionEvent, "d2", "scale_down")},
			[]string{"i1 healthy"},
		},
		{
			"an operation that ends twice, first unknown",
			stepped(16),
			[]query.Event{happened(16, query.OperationEvent, "o1", "terminate unknown")},
			[]string{"o1 terminate unknown"},
		},
		{
			"and then for good",
			stepped(17),
			[]query.Event{happened(16, query.OperationEvent, "o1", "terminate succeeded")},
			[]string{"o1 terminate succeeded"},
		},
		{"nothing", stepped(18), []query.Event{happened(16, query.OperationEvent, "o1", "terminate succeeded")}, nil},
	}
	for n, s := range steps {
		if q := f.next(); n == 0 && q.Limit != 50 || n > 0 && (q.Limit != askedAlways || q.Since.IsZero()) {
			t.Errorf("%s: it asks for %+v", s.name, q)
		}
		if diff := cmp.Diff(s.want, toldAs(f.news(s.progress, s.stored))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.name, diff)
		}
	}
}

func TestWhoFollowsOneFleetHearsNothingOfOthers(t *testing.T) {
	f := follower{query: query.EventFilter{Fleet: "demo"}}
	f.news(stepped(1), nil)
	p := stepped(2, "i1 healthy", "i2 healthy")
	p.Transitions[0].Fleet = "fleet.other"
	if diff := cmp.Diff([]string{"i2 healthy"}, toldAs(f.news(p, nil))); diff != "" {
		t.Error(diff)
	}
	if q := f.next(); q.Fleet != "demo" {
		t.Errorf("it asks for %+v", q)
	}
}

// story is a manager with a past, and steps that come.
type story struct {
	installation.Reader
	past  []query.Event
	steps []progress.Progress
}

func (s story) Events(context.Context, query.EventFilter) ([]query.Event, error) {
	return s.past, nil
}

func (s story) Watch(context.Context) iter.Seq2[progress.Progress, error] {
	return func(yield func(progress.Progress, error) bool) {
		for _, p := range s.steps {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func TestEventsAreLinesForPeopleAndJSONForPrograms(t *testing.T) {
	s := story{
		steps: []progress.Progress{stepped(1), stepped(2, "01kb0000000000000000000001 healthy")},
		past: []query.Event{
			{
				At:    noon.Local(),
				Kind:  query.DecisionEvent,
				ID:    "d1",
				Fleet: "fleet.demo",
				What:  "scale_up by 2",
				Text:  "2 wanted.",
			},
			{At: noon.Local(), Kind: query.AuditEvent, ID: "a1", What: "apply", By: "ada", Text: "definition 1"},
		},
	}
	show := func(flags eventsFlags) string {
		var out bytes.Buffer
		if err := (&app{out: &out}).events(t.Context(), s, flags); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	at := render.Moment(noon)
	past := at + "  decision   demo              scale_up by 2: 2 wanted.\n" + at +
		"  audit      by ada            apply: definition 1\n"
	if got := show(eventsFlags{}); got != past {
		t.Errorf("it says\n%s\nwant\n%s", got, past)
	}
	if got := show(
		eventsFlags{follow: true},
	); !strings.HasPrefix(got, past) || !strings.Contains(got, "demo …00000001") ||
		strings.Count(got, "\n") != 3 {
		t.Errorf("to a follower it says\n%s", got)
	}
	var all []query.Event
	if err := json.Unmarshal([]byte(show(eventsFlags{json: true})), &all); err != nil || len(all) != 2 {
		t.Errorf("%d events, error %v", len(all), err)
	}
	lines := json.NewDecoder(strings.NewReader(show(eventsFlags{json: true, follow: true})))
	for n := range 3 {
		var e query.Event
		if err := lines.Decode(&e); err != nil || e.ID == "" {
			t.Errorf("line %d is %+v, error %v", n, e, err)
		}
	}
	still := struct{ installation.Reader }{s}
	if err := (&app{out: &bytes.Buffer{}}).events(
		t.Context(),
		still,
		eventsFlags{follow: true},
	); err == nil ||
		!strings.Contains(err.Error(), "forgeyard-fleet serve") {
		t.Errorf("without a manager: %v", err)
	}
}
