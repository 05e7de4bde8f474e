package control

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// StandingKind is what a person decides beside the file.
type StandingKind string

// The kinds of standing order.
const (
	// ScaleFleet replaces a fleet's min, max or both for a time [177-180].
	ScaleFleet StandingKind = "scale"
	// PinInstance keeps the planner's hands off an instance for a time [131].
	PinInstance StandingKind = "pin"
	// FreezeWrites stops what the loop does about a fleet or a provider [133, 137].
	FreezeWrites StandingKind = "freeze"
	// QuarantineIt takes a fleet, an instance or what an image made out of work
	// [135, 136].
	QuarantineIt StandingKind = "quarantine"
	// BreakGlass raises or lifts a fleet's cost guardrails for a time [237].
	BreakGlass StandingKind = "cost-override"
)

// StandingOrder is what a person decides beside the file. Which fields count is
// the kind's to say.
type StandingOrder struct {
	Kind StandingKind
	// End takes back the one that stands; nothing but the subject counts then.
	End bool
	// One of these is the subject. Fleet is an address or a name, Image a declared
	// digest or image.NAME.
	Fleet    string
	Instance fleet.CapacityInstanceID
	Provider fleet.ProviderAddress
	Image    string

	// Min and Max are of a scale; nil: the file's holds.
	Min, Max *int
	// MaxHourly and MaxDaily are of a broken glass; zero: the file's holds. Without
	// both of them it lifts them all.
	MaxHourly, MaxDaily fleet.Money
	// For is how long a scale, a pin or a broken glass lasts.
	For time.Duration
	// ScaleUpOnly is of a freeze.
	ScaleUpOnly bool
	Reason      string
}

// StandingReceipt says what was decided, or taken back, about what.
type StandingReceipt struct {
	// Subject is the fleet, instance, provider or image in words.
	Subject string `json:"subject"`
	Done    string `json:"done"`
	// Until is when it ends by itself; zero: when it is taken back.
	Until time.Time `json:"until,omitzero"`
	// Changed is false where there was nothing to take back.
	Changed bool `json:"changed"`
	// Loop says that a running manager goes by it already: no call that contradicts
	// it goes out any more. False: no manager runs, and the next one will.
	Loop bool `json:"loop"`
}

// standingUseCases name what each kind needs permission for.
var standingUseCases = map[StandingKind]string{
	ScaleFleet: "fleet scale", PinInstance: "instance pin", FreezeWrites: "freeze", QuarantineIt: "quarantine",
	BreakGlass: "cost override",
}

const (
	// LongestStanding bounds what expires by itself: what lasts longer belongs into
	// the file.
	LongestStanding = 30 * 24 * time.Hour
	// longestReason is enough for a sentence and a link.
	longestReason = 500
)

// ruling is one that was found valid: the standing order, and what it is
// in words.
type ruling struct {
	order         any
	subject, done string
	until         time.Time
}

// OrderStanding keeps what a person decided together with its audit record, and makes
// sure that a loop which runs goes by it before it returns.
func (m *Manager) OrderStanding(ctx context.Context, d StandingOrder) (StandingReceipt, error) {
	r, err := m.standing(ctx, d)
	if err != nil {
		return StandingReceipt{}, err
	}
	return m.enter(ctx, standingUseCases[d.Kind], d, r)
}

// CheckStanding says what OrderStanding would do, or why it is refused, and keeps
// nothing.
func (r *reading) CheckStanding(ctx context.Context, d StandingOrder) (StandingReceipt, error) {
	found, err := r.standing(ctx, d)
	return StandingReceipt{Subject: found.subject, Done: found.done, Until: found.until}, err
}

// standing holds an order against the caller and against what was applied.
func (r *reading) standing(ctx context.Context, d StandingOrder) (ruling, error) {
	useCase, known := standingUseCases[d.Kind]
	if !known {
		return ruling{}, access.Invalid("there is no standing order %q", d.Kind)
	}
	caller, err := access.Authorize(ctx, useCase)
	if err != nil {
		return ruling{}, err
	}
	if why := Unsayable(d.Reason); why != "" {
		return ruling{}, &access.InvalidError{Reason: "the reason " + why}
	}
	state, err := r.store.Load(ctx)
	if err != nil {
		return ruling{}, err
	}
	judge := &judgement{state: state, caller: caller, useCase: useCase, decided: fleet.Attribution{By: caller.Name, At: r.options.Clock().UTC(), Reason: d.Reason}}
	return r.judge(ctx, judge, d)
}

// Unsayable is why a text can't be kept and shown in a sentence; "": it can. One
// line of it can't look like two, and no plan is refused for what a reason does to
// a terminal.
func Unsayable(text string) string {
	switch {
	case len(text) > longestReason:
		return fmt.Sprintf("has %d bytes and may have %d; say it shorter", len(text), longestReason)
	case strings.ContainsFunc(text, unicode.IsControl):
		return "has a line end or another control character; say it in one line of text"
	}
	return ""
}

// judge finds what an order means, or why it can't be.
func (r *reading) judge(ctx context.Context, j *judgement, d StandingOrder) (ruling, error) {
	switch d.Kind {
	case ScaleFleet:
		return j.scale(d)
	case FreezeWrites:
		return j.freeze(d)
	case BreakGlass:
		return j.breakGlass(d)
	case PinInstance:
		i, address, err := r.findOrdered(ctx, j.caller, d.Instance)
		if err != nil {
			return ruling{}, err
		}
		return j.pin(i, address, d)
	}
	if d.Instance == "" {
		return j.quarantine(d)
	}
	i, address, err := r.findOrdered(ctx, j.caller, d.Instance)
	if err != nil {
		return ruling{}, err
	}
	return j.quarantineInstance(i, address, d)
}

// enter keeps a ruling, or takes back the one that stands, and tells the loop.
func (m *Manager) enter(ctx context.Context, useCase string, d StandingOrder, r ruling) (StandingReceipt, error) {
	detail := fmt.Sprintf("%s: %s", r.subject, r.done)
	if d.End {
		detail = r.subject + ": taken back"
	}
	if d.Reason != "" {
		detail += "; " + d.Reason
	}
	record, err := access.NewAuditRecord(ctx, m.options.Clock(), useCase, detail)
	if err != nil {
		return StandingReceipt{}, err
	}
	receipt := StandingReceipt{Subject: r.subject, Done: r.done, Until: r.until, Changed: true}
	if d.End {
		receipt.Until = time.Time{}
		if receipt.Changed, err = m.store.ClearOverride(ctx, r.order, record); !receipt.Changed {
			receipt.Done = "there was nothing to take back"
		}
	} else {
		err = m.store.SetOverride(ctx, r.order, record)
	}
	if err != nil {
		return StandingReceipt{}, err
	}
	receipt.Loop, err = m.takeNote(ctx, r.subject)
	return receipt, err
}

// takeNote waits until a step of a running loop has seen what was stored just now.
// It returns false where none runs.
func (m *Manager) takeNote(ctx context.Context, subject string) (bool, error) {
	m.mu.Lock()
	r := m.running
	m.mu.Unlock()
	if r == nil {
		return false, nil
	}
	_, err := m.give(ctx, r, loop.Order{Kind: loop.TakeNote, By: access.CallerOf(ctx).Name}, subject)
	return err == nil, err
}

// judgement is what an order is held against.
type judgement struct {
	state   snapshot.State
	caller  access.Caller
	useCase string
	decided fleet.Attribution
}

// fleet finds the fleet of an address, a name or an id. What is in others than the
// caller's isn't there.
func (j *judgement) fleet(wanted string) (fleet.ManagedFleet, error) {
	for _, f := range j.state.Fleets {
		if (named(f, wanted) || string(f.ID) == wanted) && j.caller.MayTouch(f.Address) {
			return f, nil
		}
	}
	return fleet.ManagedFleet{}, &access.NotFoundError{Kind: "fleet", ID: wanted}
}

// unlimited refuses callers who are limited to fleets: providers and images are
// of them all.
func (j *judgement) unlimited(what string) error {
	if len(j.caller.Fleets) > 0 {
		return &access.DeniedError{Caller: j.caller.Name, UseCase: j.useCase + " of", Fleet: fleet.FleetAddress(what)}
	}
	return nil
}

// until is when something that lasts for d ends.
func (j *judgement) until(d time.Duration) (time.Time, error) {
	if d <= 0 || d > LongestStanding {
		return time.Time{}, access.Invalid("it lasts for %s and must last for more than nothing and at most %d days: what lasts longer belongs into the file", d, LongestStanding/(24*time.Hour))
	}
	return j.decided.At.Add(d), nil
}

// moment is a time in words.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
