package control

import (
	"context"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/keys"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/view"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// reading is what a manager and one who only looks have in common.
type reading struct {
	options workspace.Options
	store   *store.Store
	// observed is what a running manager knows beyond the store; zero: none runs here.
	observed func() snapshot.Observations
	// refused are the calls of agents that a running manager refused; nil: none
	// runs here.
	refused func() []fleet.Refusal
	// listens is where a running manager is to be found by agents; nil: none runs here.
	listens atomic.Pointer[listening]
}

// Look reads a state directory without becoming its writer.
type Look struct {
	reading
	access.TokenList
}

var _ Reader = (*Look)(nil)

// OpenToLook opens an installation for reading. Before the first apply the
// error is ErrNothingApplied.
func OpenToLook(ctx context.Context, o workspace.Options) (*Look, error) {
	if err := o.Place.CheckInstalled(); err != nil {
		return nil, err
	}
	s, err := store.OpenReadOnly(ctx, o.Place.Database())
	if err != nil {
		return nil, err
	}
	l := &Look{reading: reading{options: o, store: s}, TokenList: access.NewTokenList(s)}
	l.observed = func() snapshot.Observations { return snapshot.Observations{} }
	return l, nil
}

// snapshotOf is a state that was loaded just now with what is known beyond it.
func (r *reading) snapshotOf(state snapshot.State) snapshot.Snapshot {
	return snapshot.Snapshot{Now: r.options.Clock(), AgentVersion: r.options.Version, State: state, Observations: r.observed()}
}

// Close closes the store.
func (l *Look) Close() error { return l.store.Close() }

// Plan compares a submission with what is stored.
func (r *reading) Plan(ctx context.Context, s Submission) (Plan, error) {
	caller, err := access.Authorize(ctx, "plan")
	if err != nil {
		return Plan{}, err
	}
	p, err := r.planOf(ctx, caller, s.Prune, func(ctx context.Context) (*workspace.Loaded, workspace.Bundle, error) {
		return workspace.Load(ctx, s.Sources, s.Lock, s.Variables, r.options, r.readable(ctx, caller))
	})
	if err == nil && s.Approved != nil {
		err = r.still(ctx, *s.Approved, p)
	}
	if err != nil {
		return Plan{}, err
	}
	return p.visibleTo(caller), nil
}

// PlanFromNothing is the plan of a first apply.
func PlanFromNothing(ctx context.Context, s Submission, o workspace.Options) (Plan, error) {
	loaded, bundle, err := workspace.Load(ctx, s.Sources, s.Lock, s.Variables, o, nil)
	if err != nil {
		return Plan{}, err
	}
	p, err := makePlan(planInput{file: loaded.Definition, lock: bundle.Lock, newID: newID, Snapshot: snapshot.Snapshot{Now: o.Clock(), AgentVersion: o.Version}})
	p.Warnings = append(loaded.Warnings, loaded.RemovesNothing(nil)...)
	return p, err
}

// planOf compares what load reads with what is stored. Of a big installation both
// take their time, and neither needs the other.
func (r *reading) planOf(ctx context.Context, caller access.Caller, prune bool, load func(context.Context) (*workspace.Loaded, workspace.Bundle, error)) (Plan, error) {
	var (
		loaded *workspace.Loaded
		bundle workspace.Bundle
		stored store.AppliedDefinition
		state  snapshot.State
	)
	both, within := errgroup.WithContext(ctx)
	both.Go(func() (err error) { loaded, bundle, err = load(within); return err })
	both.Go(func() (err error) { stored, state, err = r.store.LoadApplied(within); return err })
	if err := both.Wait(); err != nil {
		return Plan{}, err
	}
	p, err := makePlan(planInput{
		file: loaded.Definition, lock: bundle.Lock, prune: prune, stored: stored, newID: newID, Snapshot: r.snapshotOf(state),
	})
	if err != nil {
		return Plan{}, err
	}
	p.Warnings, p.Unrecorded = append(loaded.Warnings, loaded.RemovesNothing(addressesOf(state))...), r.unrecordedFor(caller)
	p.Warnings = append(p.Warnings, loaded.MaybeRenamed(stored.Definition)...)
	p.Warnings = append(p.Warnings, agentless(loaded.Definition)...)
	p.Warnings = append(p.Warnings, stranded(stored.Definition, loaded.Definition, state)...)
	p.Warnings = append(p.Warnings, unheard(r.listens.Load(), loaded.Definition)...)
	if p.Approval.Authority, err = keys.InstallationID(ctx, r.store); err != nil {
		return Plan{}, err
	}
	return p, p.allowedTo(caller)
}

// addressesOf are the addresses of the fleets that there are.
func addressesOf(s snapshot.State) []fleet.FleetAddress {
	var known []fleet.FleetAddress
	for _, f := range s.Fleets {
		known = append(known, f.Address)
	}
	return known
}

// Fleets lists the caller's fleets with their numbers, health and reasons.
func (r *reading) Fleets(ctx context.Context) ([]view.Fleet, error) {
	caller, err := access.Authorize(ctx, "fleets")
	if err != nil {
		return nil, err
	}
	state, err := r.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	fleets := slices.DeleteFunc(view.Fleets(r.snapshotOf(state)), func(f view.Fleet) bool { return !caller.MayTouch(f.Address) })
	for n := range fleets {
		fleets[n].Unplaced = caller.Unplaced(fleets[n].Unplaced)
	}
	return fleets, nil
}

// Instances lists the live instances of the caller's fleets.
func (r *reading) Instances(ctx context.Context) ([]view.Instance, error) {
	caller, err := access.Authorize(ctx, "instances")
	if err != nil {
		return nil, err
	}
	state, err := r.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(view.Instances(r.snapshotOf(state)), func(i view.Instance) bool { return !caller.MayTouch(i.Fleet) }), nil
}

// Decisions are the newest decisions about a fleet.
func (r *reading) Decisions(ctx context.Context, address fleet.FleetAddress, limit int) ([]fleet.Decision, error) {
	caller, err := access.Authorize(ctx, "decisions")
	if err != nil {
		return nil, err
	}
	fleets, err := r.store.Fleets(ctx)
	if err != nil {
		return nil, err
	}
	n := slices.IndexFunc(fleets, func(f fleet.ManagedFleet) bool { return f.Address == address })
	if n < 0 || !caller.MayTouch(address) {
		return nil, &access.NotFoundError{Kind: "fleet", ID: string(address)}
	}
	return r.store.Decisions(ctx, fleets[n].ID, limit)
}
