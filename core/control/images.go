package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// RolloutRequest is a person's word about rollouts [66, 223].
type RolloutRequest struct {
	// Subject is a fleet by its address, name or id, or an image as image.NAME or by
	// its digest, which means every fleet whose file asks for it.
	Subject string
	Action  fleet.RolloutAction
	// SkipSoak lets the others follow without a soak; of a resume.
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

// rolloutUseCases name what each word needs permission for.
var rolloutUseCases = map[fleet.RolloutAction]string{
	fleet.PauseRollout: "image rollout", fleet.ResumeRollout: "image rollout", fleet.RollBack: "image rollback",
}

// OrderRollout keeps a person's word about the rollouts of a fleet, or of every
// fleet of an image, each with its audit record, and makes sure that a loop which
// runs goes by it before it returns. One that makes no sense for one of the fleets
// is refused for all.
func (m *Manager) OrderRollout(ctx context.Context, request RolloutRequest) (RolloutReceipt, error) {
	rulings, err := m.rollouts(ctx, request)
	if err != nil {
		return RolloutReceipt{}, err
	}
	return m.enterRollouts(ctx, rolloutUseCases[request.Action], rulings)
}

// CheckRollout says what OrderRollout would do, or why it is refused, and keeps
// nothing.
func (r *reading) CheckRollout(ctx context.Context, request RolloutRequest) (RolloutReceipt, error) {
	rulings, err := r.rollouts(ctx, request)
	return RolloutReceipt{Fleets: ruled(rulings)}, err
}

// rollouts holds a word against the caller and against what was applied.
func (r *reading) rollouts(ctx context.Context, request RolloutRequest) ([]rolloutRuling, error) {
	useCase, known := rolloutUseCases[request.Action]
	if !known {
		return nil, access.Invalid("there is no word %q about a rollout: it is %s, %s or %s", request.Action, fleet.PauseRollout, fleet.ResumeRollout, fleet.RollBack)
	}
	caller, err := access.Authorize(ctx, useCase)
	if err != nil {
		return nil, err
	}
	if why := Unsayable(request.Reason); why != "" {
		return nil, &access.InvalidError{Reason: "the reason " + why}
	}
	state, err := r.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	j := &judgement{state: state, caller: caller, useCase: useCase, decided: fleet.Attribution{By: caller.Name, At: r.options.Clock().UTC(), Reason: request.Reason}}
	fleets, err := j.rolledOut(request.Subject)
	if err != nil {
		return nil, err
	}
	var rulings []rolloutRuling
	for _, f := range fleets {
		ruling, err := j.rollout(f, request)
		if err != nil {
			return nil, err
		}
		rulings = append(rulings, ruling)
	}
	return rulings, nil
}

// rolloutRuling is an order that was found valid; where changed is false there is
// none, since it is so already.
type rolloutRuling struct {
	order   fleet.RolloutOrder
	fleet   fleet.ManagedFleet
	done    string
	changed bool
}

// ruled is what was decided about each fleet.
func ruled(rulings []rolloutRuling) (all []FleetRollout) {
	for _, r := range rulings {
		all = append(all, FleetRollout{Fleet: r.fleet.Address, Done: r.done, Changed: r.changed})
	}
	return all
}

func (m *Manager) enterRollouts(ctx context.Context, useCase string, rulings []rolloutRuling) (RolloutReceipt, error) {
	receipt := RolloutReceipt{Fleets: ruled(rulings)}
	for _, r := range rulings {
		if !r.changed {
			continue
		}
		record, err := access.NewAuditRecord(ctx, m.options.Clock(), useCase, fmt.Sprintf("%s: %s%s", r.fleet.Address, r.done, afterSemicolon(r.order.Reason)))
		if err != nil {
			return RolloutReceipt{}, err
		}
		if err := m.store.SetOverride(ctx, r.order, record); err != nil {
			return RolloutReceipt{}, err
		}
	}
	var err error
	receipt.Loop, err = m.takeNote(ctx, "the rollout")
	return receipt, err
}

// rolledOut are the fleets that a word means.
func (j *judgement) rolledOut(subject string) ([]fleet.ManagedFleet, error) {
	name, isImage := strings.CutPrefix(subject, "image.")
	if !isImage && !strings.HasPrefix(subject, "sha256:") {
		f, err := j.fleet(subject)
		return []fleet.ManagedFleet{f}, err
	}
	if err := j.unlimited(subject); err != nil {
		return nil, err
	}
	var found []fleet.ManagedFleet
	for _, f := range j.state.Fleets {
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
func (j *judgement) rollout(f fleet.ManagedFleet, request RolloutRequest) (rolloutRuling, error) {
	r := rolloutRuling{fleet: f, changed: true, order: fleet.RolloutOrder{Fleet: f.ID, Action: request.Action, SkipSoak: request.SkipSoak, Attribution: j.decided}}
	if f.Operational == fleet.FleetDraining {
		return r, access.Conflict("%s is being removed", f.Address)
	}
	last, _ := j.state.Overrides.Rollout(f)
	switch request.Action {
	case fleet.RollBack:
		return j.rollBack(r, last)
	case fleet.PauseRollout:
		if last.Action == fleet.RollBack {
			return r, access.Conflict("%s is rolled back, and a pause would take that back; freeze --scale-up-only keeps its instances as they are", f.Address)
		}
		r.done = "paused: no instance is replaced, and missing ones are made from what was known good, until image rollout --resume"
		r.changed = last.Action != fleet.PauseRollout
		return r, nil
	}
	known := j.state.Rollouts[f.ID]
	switch {
	case last.Action == fleet.RollBack:
		r.done = fmt.Sprintf("taken up again: %s with a canary first", planner.ImageWords(f.Image))
	case last.Action == fleet.PauseRollout || known.Halted != nil:
		r.done = "taken up again, and soaks anew where it was halted"
	case request.SkipSoak && !known.Began.IsZero() && known.Passed.IsZero():
		r.done = "goes on"
	default:
		r.done, r.changed = "there was nothing to take up: no rollout of it is halted, paused or rolled back", false
	}
	if request.SkipSoak && r.changed {
		r.done += ", without a soak"
	}
	return r, nil
}

// rollBack finds the image to go back to: the newest other one that was known good.
func (j *judgement) rollBack(r rolloutRuling, last fleet.RolloutOrder) (rolloutRuling, error) {
	f := r.fleet
	if last.Action == fleet.RollBack {
		r.done, r.changed = fmt.Sprintf("it is rolled back to %s already", planner.ImageWords(last.To)), false
		return r, nil
	}
	if f.Joined || f.Image == (fleet.Image{}) {
		return r, access.Invalid("%s has no image", f.Address)
	}
	known := j.state.Rollouts[f.ID]
	candidates := slices.Clone(known.Good)
	if known.Halted == nil && !known.Soaking.IsZero() { // an apply that the loop hasn't taken in yet
		candidates = append([]fleet.Make{known.Target}, candidates...)
	}
	barred := ""
	for _, good := range candidates {
		if good.Image.Same(f.Image) || good.Image == (fleet.Image{}) || good.Provider != f.Provider {
			continue
		}
		if _, quarantined := j.state.Overrides.FleetQuarantine(f.From(good)); quarantined {
			barred = fmt.Sprintf("; %s is quarantined", planner.ImageWords(good.Image))
			continue
		}
		r.order.From, r.order.To = f.Image, good.Image
		r.done = fmt.Sprintf("rolled back to %s, until an apply changes the image or image rollout --resume returns to %s", planner.ImageWords(good.Image), planner.ImageWords(f.Image))
		return r, nil
	}
	return r, access.Conflict("%s can't be rolled back: no image of before is known good there%s. An image is known good once its canaries have soaked; else put the image to boot into the file and apply", f.Address, barred)
}

// Images lists the images of the caller's fleets.
func (r *reading) Images(ctx context.Context) ([]view.ImageReport, error) {
	caller, err := access.Authorize(ctx, "images")
	if err != nil {
		return nil, err
	}
	state, err := r.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	return view.Images(r.snapshotOf(state), caller.MayTouch), nil
}
