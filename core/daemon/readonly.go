package daemon

import (
	"context"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// ReadOnly reads a state directory without becoming its writer.
type ReadOnly struct {
	query.Queries
	access.TokenList
	plans.Planner

	store *store.Store
	clock func() time.Time
}

var _ installation.Reader = (*ReadOnly)(nil)

// OpenReadOnly opens an installation for reading. Before the first apply the error
// is workspace.ErrNothingApplied.
func OpenReadOnly(ctx context.Context, o workspace.Options) (*ReadOnly, error) {
	if err := o.Place.CheckInstalled(); err != nil {
		return nil, err
	}
	s, err := store.OpenReadOnly(ctx, o.Place.Database())
	if err != nil {
		return nil, err
	}
	// With no manager running, nothing is observed.
	now := query.Present{
		Clock:        o.Clock,
		AgentVersion: o.Version,
		Observed:     func() snapshot.Observations { return snapshot.Observations{} },
	}
	present := plans.Present{Present: now, Listening: func() *plans.Listening { return nil }}
	return &ReadOnly{
		Queries: query.New(s, now, nil), TokenList: access.NewTokenList(s), Planner: plans.NewPlanner(s, o, present),
		store: s, clock: o.Clock,
	}, nil
}

// CheckOrders says what orders would do.
func (r *ReadOnly) CheckOrders() installation.Orders {
	return orders.NewChecker(r.store, r.clock, r.Queries)
}

// Close closes the store.
func (r *ReadOnly) Close() error { return r.store.Close() }
