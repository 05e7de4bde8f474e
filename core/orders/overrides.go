package orders

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// OverrideReceipt says what was overridden, or cleared; of a check, what would be.
type OverrideReceipt struct {
	// Subject is the fleet, instance, provider or image in words.
	Subject string `json:"subject"`
	Done    string `json:"done"`
	// Until is when it ends by itself; zero: when it is cleared.
	Until time.Time `json:"until,omitzero"`
	// Changed is false where there was nothing to clear, and of a check.
	Changed bool `json:"changed"`
	// Loop says that a running manager goes by it already: no call that contradicts
	// it goes out any more. False: no manager runs, and the next one will.
	Loop bool `json:"loop"`
}

const (
	// LongestOverride bounds what expires by itself: a permanent change is the
	// file's.
	LongestOverride = 30 * 24 * time.Hour
	// longestReason is enough for a sentence and a link.
	longestReason = 500
)

// override is one that was found valid: what the store keeps, and what it is in
// words.
type override struct {
	stored        any
	subject, done string
	until         time.Time
}

// set keeps an override together with its audit record, in place of the one before,
// and makes sure that a loop which runs goes by it before it returns.
func (h Handler) set(
	ctx context.Context,
	useCase, reason string,
	validate func(*validation) (override, error),
) (OverrideReceipt, error) {
	o, err := h.validated(ctx, useCase, reason, validate)
	receipt := OverrideReceipt{Subject: o.subject, Done: o.done, Until: o.until}
	if err != nil || h.check {
		return receipt, err
	}
	record, err := access.NewAuditRecord(
		ctx,
		h.clock(),
		useCase,
		fmt.Sprintf("%s: %s%s", o.subject, o.done, afterSemicolon(reason)),
	)
	if err != nil {
		return OverrideReceipt{}, err
	}
	if err := h.store.SetOverride(ctx, o.stored, record); err != nil {
		return OverrideReceipt{}, err
	}
	receipt.Changed = true
	receipt.Loop, err = h.noted(ctx, o.subject)
	return receipt, err
}

// clear ends an override, if there is one.
func (h Handler) clear(
	ctx context.Context,
	useCase string,
	validate func(*validation) (override, error),
) (OverrideReceipt, error) {
	o, err := h.validated(ctx, useCase, "", validate)
	receipt := OverrideReceipt{Subject: o.subject, Done: o.done}
	if err != nil || h.check {
		return receipt, err
	}
	record, err := access.NewAuditRecord(ctx, h.clock(), useCase, o.subject+": cleared")
	if err != nil {
		return OverrideReceipt{}, err
	}
	if receipt.Changed, err = h.store.ClearOverride(ctx, o.stored, record); err != nil {
		return OverrideReceipt{}, err
	}
	if !receipt.Changed {
		receipt.Done = "there was nothing to clear"
	}
	receipt.Loop, err = h.noted(ctx, o.subject)
	return receipt, err
}

// validated checks an override against the caller and against what was applied.
func (h Handler) validated(
	ctx context.Context,
	useCase, reason string,
	validate func(*validation) (override, error),
) (override, error) {
	v, err := h.begin(ctx, useCase, reason)
	if err != nil {
		return override{}, err
	}
	o, err := validate(v)
	if err != nil {
		return override{}, err
	}
	return o, nil
}

// begin is what an order of the caller is checked against.
func (h Handler) begin(ctx context.Context, useCase, reason string) (*validation, error) {
	caller, err := access.Authorize(ctx, useCase)
	if err != nil {
		return nil, err
	}
	if problem := TextProblem(reason); problem != "" {
		return nil, &access.InvalidError{Reason: "the reason " + problem}
	}
	state, err := h.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	return &validation{
		state: state, caller: caller, useCase: useCase,
		decided: fleet.Attribution{By: caller.Name, At: h.clock().UTC(), Reason: reason},
		instance: func(id fleet.CapacityInstanceID) (fleet.CapacityInstance, fleet.FleetAddress, error) {
			return h.queries.FindForOrder(ctx, caller, id)
		},
	}, nil
}

// TextProblem says why a text can't be kept and shown in a sentence; "": it can. One
// line of it can't look like two, and no plan is refused for what a reason does to
// a terminal.
func TextProblem(text string) string {
	switch {
	case len(text) > longestReason:
		return fmt.Sprintf("has %d bytes; the limit is %d", len(text), longestReason)
	case strings.ContainsFunc(text, unicode.IsControl):
		return "contains a line break or another control character; use one line of text"
	}
	return ""
}

func afterSemicolon(text string) string {
	if text == "" {
		return ""
	}
	return "; " + text
}
