package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// EventKind is what an Event tells of.
type EventKind string

// The kinds of event: what the planner decided about a fleet, how an instance
// moved, how a call to a provider ended, and what somebody did.
const (
	DecisionEvent  EventKind = "decision"
	MoveEvent      EventKind = "move"
	OperationEvent EventKind = "operation"
	AuditEvent     EventKind = "audit"
)

// Event is one thing that happened in an installation.
type Event struct {
	At   time.Time `json:"at"`
	Kind EventKind `json:"kind"`
	// ID is of the decision, the instance, the operation or the audit record. With
	// Kind and What it tells an event from every other.
	ID string `json:"id"`
	// Fleet and Instance are empty where the event is about none, or about several.
	Fleet    fleet.FleetAddress       `json:"fleet,omitempty"`
	Instance fleet.CapacityInstanceID `json:"instance,omitempty"`
	// What is a word or two: scale_up, healthy, provision succeeded, apply.
	What string `json:"what"`
	// By is who did it, where somebody did.
	By string `json:"by,omitempty"`
	// Text says why, for people, and Reason as data where there is such.
	Text   string        `json:"text"`
	Reason reason.Reason `json:"reason,omitzero"`
}

// EventFilter narrows Events. The zero value asks for the newest of everything.
type EventFilter struct {
	// Fleet is an address or a name; "": all. What somebody did is of no fleet.
	Fleet string
	// Since leaves out what is older.
	Since time.Time
	// Limit is how many of the newest are wanted, of at most 1000; 0: 100.
	Limit int
}

// Events lists what the store tells of the past, in the order of time: decisions,
// the last move of each instance, the ends of calls, and what was done, to those
// who may read the audit. The moves before the last aren't kept; who
// watches hears each. At most the newest 1000 of each kind are looked at.
func (q Queries) Events(ctx context.Context, by EventFilter) ([]Event, error) {
	caller, err := access.Authorize(ctx, "events")
	if err != nil {
		return nil, err
	}
	addresses, err := q.store.FleetAddresses(ctx)
	if err != nil {
		return nil, err
	}
	var all []Event
	for _, of := range []func(context.Context, map[fleet.RunnerFleetID]fleet.FleetAddress) ([]Event, error){
		q.decisionEvents, q.moveEvents, q.operationEvents} {
		some, err := of(ctx, addresses)
		if err != nil {
			return nil, err
		}
		all = append(
			all,
			slices.DeleteFunc(some, func(e Event) bool { return !caller.MayTouch(e.Fleet) || !by.ofFleet(e.Fleet) })...)
	}
	done, err := q.auditEvents(ctx, caller, by)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(append(all, done...), func(e Event) bool { return e.At.Before(by.Since) })
	slices.SortFunc(all, func(a, b Event) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Kind, b.Kind))
	})
	limit := by.Limit
	if limit <= 0 {
		limit = usualPage
	}
	return append([]Event{}, all[max(0, len(all)-min(limit, maxPage)):]...), nil
}

func (q EventFilter) ofFleet(a fleet.FleetAddress) bool {
	return q.Fleet == "" || q.Fleet == string(a) || q.Fleet == a.Name()
}

func (q Queries) decisionEvents(
	ctx context.Context,
	addresses map[fleet.RunnerFleetID]fleet.FleetAddress,
) ([]Event, error) {
	decisions, err := q.store.RecentDecisions(ctx, maxPage)
	events := make([]Event, 0, len(decisions))
	for _, d := range decisions {
		e := Event{
			At:     d.At,
			Kind:   DecisionEvent,
			ID:     d.ID,
			Fleet:  addresses[d.Fleet],
			What:   string(d.Kind),
			Text:   d.Reason.Text(),
			Reason: d.Reason,
		}
		if d.Add > 0 {
			e.What += fmt.Sprintf(" by %d", d.Add)
		}
		if len(d.Instances) == 1 {
			e.Instance = d.Instances[0]
		}
		events = append(events, e)
	}
	return events, err
}

func (q Queries) moveEvents(
	ctx context.Context,
	addresses map[fleet.RunnerFleetID]fleet.FleetAddress,
) ([]Event, error) {
	instances, err := q.store.Instances(ctx, store.InstanceFilter{IncludeTerminated: true, Limit: maxPage})
	events := make([]Event, 0, len(instances))
	for _, i := range instances {
		events = append(
			events,
			Event{
				At:       i.Since,
				Kind:     MoveEvent,
				ID:       string(i.ID),
				Fleet:    addresses[i.Fleet],
				Instance: i.ID,
				What:     string(i.State),
				Text:     i.Reason.Text(),
				Reason:   i.Reason,
			},
		)
	}
	return events, err
}

func (q Queries) operationEvents(
	ctx context.Context,
	addresses map[fleet.RunnerFleetID]fleet.FleetAddress,
) ([]Event, error) {
	operations, err := q.store.RecentOperations(ctx, maxPage)
	events := make([]Event, 0, len(operations))
	for _, op := range operations {
		if op.CallOver.IsZero() {
			continue // it was never sent, or hasn't ended
		}
		e := Event{
			At:       op.CallOver,
			Kind:     OperationEvent,
			ID:       string(op.ID),
			Fleet:    addresses[op.Fleet],
			Instance: op.Instance,
			What:     fmt.Sprintf("%s %s", op.Kind, op.State),
			Text:     op.Reason.Text(),
			Reason:   op.Reason,
		}
		if e.Text == "" {
			e.Text = fmt.Sprintf("provider.%s, call %d.", op.Provider, op.Attempts)
		}
		events = append(events, e)
	}
	return events, err
}

// auditEvents are for those who may read the audit, as Audit shows it to them.
func (q Queries) auditEvents(ctx context.Context, caller access.Caller, by EventFilter) ([]Event, error) {
	if by.Fleet != "" {
		return nil, nil
	}
	if _, err := access.Authorize(ctx, "audit"); err != nil {
		return nil, nil // theirs to read is the rest
	}
	records, err := q.store.Audit(ctx, maxPage)
	var events []Event
	for _, a := range records {
		if len(caller.Fleets) == 0 || a.By == caller.Name {
			events = append(events, Event{At: a.At, Kind: AuditEvent, ID: a.ID, What: a.Action, By: a.By, Text: a.Detail})
		}
	}
	return events, err
}
