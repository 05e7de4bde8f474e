package orders

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// RolloutRequest is about the rollouts of a fleet or an image (spec §66, §223).
type RolloutRequest struct {
	// Subject is a fleet by its address, name or id, or an image as image.NAME or by
	// its digest, which means every fleet whose file asks for it.
	Subject string
	Reason  string
}

// ResumeRequest resumes rollouts.
type ResumeRequest struct {
	// Subject is as of a RolloutRequest.
	Subject string
	// SkipSoak lets the others follow without a soak.
	SkipSoak bool
	Reason   string
}

// RolloutReceipt says what was decided about each fleet.
type RolloutReceipt struct {
	Fleets []FleetRollout `json:"fleets"`
	// Loop says that a running manager goes by it already; false: none runs, and the
	// next one will.
	Loop bool `json:"loop"`
}

// FleetRollout is what was decided about one fleet.
type FleetRollout struct {
	Fleet fleet.FleetAddress `json:"fleet"`
	Done  string             `json:"done"`
	// Changed is false where it was so already.
	Changed bool `json:"changed"`
}

// PauseRollout halts the rollouts of a fleet, or of every fleet of an image, until
// they are resumed.
func (h Handler) PauseRollout(ctx context.Context, r RolloutRequest) (RolloutReceipt, error) {
	return h.orderRollouts(ctx, "image rollout", r.Subject, fleet.RolloutOrder{Action: fleet.PauseRollout}, r.Reason)
}

// ResumeRollout takes up rollouts that were halted, paused or rolled back.
func (h Handler) ResumeRollout(ctx context.Context, r ResumeRequest) (RolloutReceipt, error) {
	return h.orderRollouts(
		ctx,
		"image rollout",
		r.Subject,
		fleet.RolloutOrder{Action: fleet.ResumeRollout, SkipSoak: r.SkipSoak},
		r.Reason,
	)
}

// RollBack goes back to the image that was known good before, until an apply
// changes the image or the rollout is resumed.
func (h Handler) RollBack(ctx context.Context, r RolloutRequest) (RolloutReceipt, error) {
	return h.orderRollouts(ctx, "image rollback", r.Subject, fleet.RolloutOrder{Action: fleet.RollBack}, r.Reason)
}

// orderRollouts keeps an order for each fleet that the subject means, each with its
// audit record, and makes sure that a loop which runs goes by it before it returns.
// One that makes no sense for one of the fleets is refused for all.
func (h Handler) orderRollouts(
	ctx context.Context,
	useCase, subject string,
	order fleet.RolloutOrder,
	reason string,
) (RolloutReceipt, error) {
	v, err := h.begin(ctx, useCase, reason)
	if err != nil {
		return RolloutReceipt{}, err
	}
	order.Attribution = v.decided
	changes, err := v.rollouts(subject, order)
	if err != nil {
		return RolloutReceipt{}, err
	}
	var receipt RolloutReceipt
	for _, c := range changes {
		receipt.Fleets = append(receipt.Fleets, FleetRollout{Fleet: c.fleet.Address, Done: c.done, Changed: c.changed})
	}
	if h.check {
		return receipt, nil
	}
	for _, c := range changes {
		if !c.changed {
			continue
		}
		record, err := access.NewAuditRecord(
			ctx,
			h.clock(),
			useCase,
			fmt.Sprintf("%s: %s%s", c.fleet.Address, c.done, afterSemicolon(reason)),
		)
		if err != nil {
			return RolloutReceipt{}, err
		}
		if err := h.store.SetOverride(ctx, c.order, record); err != nil {
			return RolloutReceipt{}, err
		}
	}
	receipt.Loop, err = h.noted(ctx, "the rollout")
	return receipt, err
}

// rollouts are the valid orders of each fleet that the subject means.
func (v *validation) rollouts(subject string, order fleet.RolloutOrder) (changes []rolloutChange, err error) {
	fleets, err := v.rolledOut(subject)
	if err != nil {
		return nil, err
	}
	for _, f := range fleets {
		c, err := v.rollout(f, order)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// rolloutChange is an order that was found valid; where changed is false there is
// none, since it is so already.
type rolloutChange struct {
	order   fleet.RolloutOrder
	fleet   fleet.ManagedFleet
	done    string
	changed bool
}

// rolledOut are the fleets that a word means.
func (v *validation) rolledOut(subject string) ([]fleet.ManagedFleet, error) {
	name, isImage := strings.CutPrefix(subject, "image.")
	if !isImage && !strings.HasPrefix(subject, "sha256:") {
		f, err := v.fleet(subject)
		return []fleet.ManagedFleet{f}, err
	}
	if err := v.unlimited(subject); err != nil {
		return nil, err
	}
	var found []fleet.ManagedFleet
	for _, f := range v.state.Fleets {
		named := isImage && f.Image.Name == name || !isImage && f.Image.Digest == subject
		if named && f.Operational != fleet.FleetDraining && !f.Joined {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return nil, &access.NotFoundError{Kind: "image", ID: subject}
	}
	return found, nil
}

// rollout holds a word about one fleet's rollouts against what is known of them.
func (v *validation) rollout(f fleet.ManagedFleet, order fleet.RolloutOrder) (rolloutChange, error) {
	order.Fleet = f.ID
	r := rolloutChange{fleet: f, changed: true, order: order}
	if f.Operational == fleet.FleetDraining {
		return r, access.Conflict("%s is being removed", f.Address)
	}
	last, _ := v.state.Overrides.Rollout(f)
	switch order.Action {
	case fleet.RollBack:
		return v.rollBack(r, last)
	case fleet.PauseRollout:
		if last.Action == fleet.RollBack {
			return r, access.Conflict(
				"%s is rolled back, and a pause would undo that; to keep its instances as they are: freeze --scale-up-only",
				f.Address,
			)
		}
		r.done = "paused until image rollout --resume: no instance is replaced, and missing ones are made from the last " +
			"known good image"
		r.changed = last.Action != fleet.PauseRollout
		return r, nil
	}
	known := v.state.Rollouts[f.ID]
	switch {
	case last.Action == fleet.RollBack:
		r.done = fmt.Sprintf("resumed: %s, with a canary first", imageText(f.Image))
	case last.Action == fleet.PauseRollout || known.Halted != nil:
		r.done = "resumed; a rollout that was halted soaks again"
	case order.SkipSoak && !known.Began.IsZero() && known.Passed.IsZero():
		r.done = "resumed"
	default:
		r.done, r.changed = "nothing to resume: no rollout is halted, paused or rolled back", false
	}
	if order.SkipSoak && r.changed {
		r.done += ", without a soak"
	}
	return r, nil
}

// rollBack finds the image to go back to: the newest other one that was known good.
func (v *validation) rollBack(r rolloutChange, last fleet.RolloutOrder) (rolloutChange, error) {
	f := r.fleet
	if last.Action == fleet.RollBack {
		r.done, r.changed = fmt.Sprintf("already rolled back to %s", imageText(last.To)), false
		return r, nil
	}
	if f.Joined || f.Image == (fleet.Image{}) {
		return r, access.Invalid("%s has no image", f.Address)
	}
	known := v.state.Rollouts[f.ID]
	candidates := slices.Clone(known.Good)
	if known.Halted == nil && !known.Soaking.IsZero() { // an apply that the loop hasn't taken in yet
		candidates = append([]fleet.Make{known.Target}, candidates...)
	}
	barred := ""
	for _, good := range candidates {
		if good.Image.Same(f.Image) || good.Image == (fleet.Image{}) || good.Provider != f.Provider {
			continue
		}
		if _, quarantined := v.state.Overrides.FleetQuarantine(f.From(good)); quarantined {
			barred = fmt.Sprintf("; %s is quarantined", imageText(good.Image))
			continue
		}
		r.order.From, r.order.To = f.Image, good.Image
		r.done = fmt.Sprintf(
			"rolled back to %s, until an apply changes the image or image rollout --resume returns to %s",
			imageText(good.Image),
			imageText(f.Image),
		)
		return r, nil
	}
	return r, access.Conflict(
		"%s can't be rolled back: it has no earlier known good image%s. An image is known good once its canaries have "+
			"soaked; to boot another image, change the file and apply",
		f.Address,
		barred,
	)
}

func imageText(i fleet.Image) string { return reason.ImageText(i.Name, i.Digest) }
