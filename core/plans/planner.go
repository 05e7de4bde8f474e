package plans

import (
	"context"
	"crypto/rand"
	"golang.org/x/sync/errgroup"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/keys"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// Planner compares submissions with what is stored.
type Planner struct {
	store   *store.Store
	options workspace.Options
	now     Present
}

// Present is what a running manager knows beyond the store.
type Present struct {
	query.Present
	// Listening is where it is to be found by agents; nil: none runs here.
	Listening func() *Listening
}

// NewPlanner is of a store that may be read-only.
func NewPlanner(s *store.Store, o workspace.Options, now Present) Planner {
	return Planner{store: s, options: o, now: now}
}

// Plan compares a submission with what is stored.
func (p Planner) Plan(ctx context.Context, s Submission) (Plan, error) {
	caller, err := access.Authorize(ctx, "plan")
	if err != nil {
		return Plan{}, err
	}
	made, err := p.planOf(ctx, caller, s.Prune, func(ctx context.Context) (*workspace.Loaded, workspace.Bundle, error) {
		return workspace.Load(ctx, s.Sources, s.Lock, s.Variables, p.options, p.readable(ctx, caller))
	})
	if err == nil && s.Approved != nil {
		err = p.still(ctx, *s.Approved, made)
	}
	if err != nil {
		return Plan{}, err
	}
	return made.visibleTo(caller), nil
}

// FirstPlan is the plan of a first apply.
func FirstPlan(ctx context.Context, s Submission, o workspace.Options) (Plan, error) {
	loaded, bundle, err := workspace.Load(ctx, s.Sources, s.Lock, s.Variables, o, nil)
	if err != nil {
		return Plan{}, err
	}
	p, err := makePlan(
		planInput{
			file:     loaded.Definition,
			lock:     bundle.Lock,
			newID:    newID,
			Snapshot: snapshot.Snapshot{Now: o.Clock(), AgentVersion: o.Version},
		},
	)
	p.Warnings = append(loaded.Warnings, loaded.RemovesNothing(nil)...)
	return p, err
}

// planOf compares what load reads with what is stored. Of a big installation both
// take their time, and neither needs the other.
func (p Planner) planOf(
	ctx context.Context,
	caller access.Caller,
	prune bool,
	load func(context.Context) (*workspace.Loaded, workspace.Bundle, error),
) (Plan, error) {
	var (
		loaded *workspace.Loaded
		bundle workspace.Bundle
		stored store.AppliedDefinition
		state  snapshot.State
	)
	both, within := errgroup.WithContext(ctx)
	both.Go(func() (err error) { loaded, bundle, err = load(within); return err })
	both.Go(func() (err error) { stored, state, err = p.store.LoadApplied(within); return err })
	if err := both.Wait(); err != nil {
		return Plan{}, err
	}
	now := p.now.Snapshot(state)
	made, err := makePlan(planInput{
		file: loaded.Definition, lock: bundle.Lock, prune: prune, stored: stored, newID: newID, Snapshot: now,
	})
	if err != nil {
		return Plan{}, err
	}
	made.Warnings, made.Unrecorded = append(
		loaded.Warnings,
		loaded.RemovesNothing(addressesOf(state))...), query.VisibleUnrecorded(
		now.Unrecorded,
		caller,
	)
	made.Warnings = append(made.Warnings, loaded.MaybeRenamed(stored.Definition)...)
	made.Warnings = append(made.Warnings, warnMissingAgents(loaded.Definition)...)
	made.Warnings = append(made.Warnings, warnOldAddress(stored.Definition, loaded.Definition, state)...)
	made.Warnings = append(made.Warnings, warnIgnoredListen(p.now.Listening(), loaded.Definition)...)
	if made.Approval.Authority, err = keys.InstallationID(ctx, p.store); err != nil {
		return Plan{}, err
	}
	return made, made.allowedTo(caller)
}

// addressesOf are the addresses of the fleets that there are.
func addressesOf(s snapshot.State) []fleet.FleetAddress {
	var known []fleet.FleetAddress
	for _, f := range s.Fleets {
		known = append(known, f.Address)
	}
	return known
}

// newID makes the ids of fleets.
func newID(now time.Time) (string, error) { return fleet.NewULID(now, rand.Reader) }
