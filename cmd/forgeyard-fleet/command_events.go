package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/query"
)

// eventsFlags are the flags of events.
type eventsFlags struct {
	query  query.EventFilter
	follow bool
	json   bool
}

func (a *app) eventsCommand() *cobra.Command {
	flags := eventsFlags{query: query.EventFilter{Limit: 100}}
	c := &cobra.Command{
		Use:   "events",
		Short: "Show events: decisions, transitions, results of provider calls, and user actions",
		Long: "Show events in the order of time: decisions with their reasons, the last transition of each instance, " +
			"the results\n" +
			"of calls to providers, and, with the permission fleet.manage, the actions of users. --follow needs a running\n" +
			"manager and shows each event as it happens until interrupted. --json prints a list, or with --follow one object\n" +
			"per line.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.look(
				c,
				func(ctx context.Context, look installation.Reader, _ string) error { return a.events(ctx, look, flags) },
			)
		},
	}
	lookFlags(c, &flags.json)
	c.Flags().BoolVar(&flags.follow, "follow", false, "show new events as they happen")
	c.Flags().StringVar(&flags.query.Fleet, "fleet", "", "show only the events of this fleet")
	numberFlag(c.Flags(), &flags.query.Limit, "limit", 1, 1000, "number of events, the newest ones")
	a.completes(c, nil, "fleet", a.fleetNames)
	return c
}

func (a *app) events(ctx context.Context, look installation.Reader, flags eventsFlags) error {
	if !flags.follow {
		events, err := look.Events(ctx, flags.query)
		if err == nil && len(events) == 0 && flags.query.Fleet != "" {
			err = fleetIsThere(ctx, look, flags.query.Fleet) // else something happened to it once
		}
		if err != nil {
			return err
		}
		if flags.json {
			return a.printJSON(events)
		}
		if len(events) == 0 {
			a.printf("No events.\n")
		}
		return a.page().Events(events, false)
	}
	watcher, able := look.(interface {
		Watch(ctx context.Context) iter.Seq2[progress.Progress, error]
	})
	if !able {
		return errors.New(
			"--follow needs a running manager. Omit it to see past events, or start a manager with:\n  forgeyard-fleet serve",
		)
	}
	if flags.query.Fleet != "" {
		if err := fleetIsThere(ctx, look, flags.query.Fleet); err != nil {
			return err
		}
	}
	f := follower{query: flags.query}
	for p, err := range watcher.Watch(ctx) {
		if err != nil {
			return err
		}
		// What the store tells is read after the step, and is the truth: a step that
		// a slow reader missed is in it all the same.
		stored, err := look.Events(ctx, f.next())
		if err != nil {
			return err
		}
		if err := a.page().Events(f.news(p, stored), flags.json); err != nil {
			return err
		}
	}
	return nil
}

// follower puts together what the store tells, which it is asked for after every
// step, and the moves of the steps themselves, so that each event comes once.
type follower struct {
	query query.EventFilter
	began bool
	// newest is of the newest event that the store told; told are those that it
	// will tell again.
	newest time.Time
	told   map[string]bool
	// early are moves that the store told already, and the next steps tell again:
	// those since the watch began.
	early map[string]bool
}

const (
	// lookBack is how much older than the newest an event may be that the store
	// tells only now: clocks and transactions aren't one.
	lookBack = time.Minute
	// askedAlways is how many events the store is asked for after the first time.
	askedAlways = 1000
)

// next is what the store is asked for now.
func (f *follower) next() query.EventFilter {
	if !f.began {
		return f.query
	}
	return query.EventFilter{Fleet: f.query.Fleet, Since: f.newest.Add(-lookBack), Limit: askedAlways}
}

// news are the events that weren't shown yet, in the order of time.
func (f *follower) news(p progress.Progress, stored []query.Event) []query.Event {
	first := !f.began
	if first {
		f.began, f.early = true, map[string]bool{}
	}
	var news []query.Event
	told := make(map[string]bool, len(stored))
	for _, e := range stored {
		key := keyOf(e)
		told[key] = true
		if e.At.After(f.newest) {
			f.newest = e.At
		}
		// After the first time the steps tell every move, not just the last one.
		if first && e.Kind == query.MoveEvent && !e.At.Before(p.At) {
			f.early[key] = true
		}
		if first || e.Kind != query.MoveEvent && !f.told[key] {
			news = append(news, e)
		}
	}
	f.told = told
	if !first {
		news = append(news, f.moves(p)...)
	}
	slices.SortStableFunc(news, func(a, b query.Event) int { return cmp.Compare(a.At.UnixNano(), b.At.UnixNano()) })
	return news
}

// moves are those of a step.
func (f *follower) moves(p progress.Progress) (moves []query.Event) {
	for _, t := range p.Transitions {
		e := query.Event{
			At:       p.At,
			Kind:     query.MoveEvent,
			ID:       string(t.Instance),
			Fleet:    t.Fleet,
			Instance: t.Instance,
			What:     string(t.To),
			Text:     t.Reason.Text(),
			Reason:   t.Reason,
		}
		key := keyOf(e)
		if f.early[key] {
			delete(f.early, key)
		} else if f.query.Fleet == "" || f.query.Fleet == string(t.Fleet) || f.query.Fleet == t.Fleet.Name() {
			moves = append(moves, e)
		}
	}
	return moves
}

// keyOf tells an event from every other, but for an instance's way back into a
// state.
func keyOf(e query.Event) string { return fmt.Sprint(e.Kind, " ", e.ID, " ", e.What) }
