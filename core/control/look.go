package control

import (
	"context"
	"sync/atomic"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/view"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// reading is what a manager and one who only looks have in common.
type reading struct {
	query.Queries
	options workspace.Options
	store   *store.Store
	// moment is now, with what a running manager knows beyond the store.
	moment func() view.Moment
	// listens is where a running manager is to be found by agents; nil: none runs here.
	listens atomic.Pointer[plans.Listening]
}

// Look reads a state directory without becoming its writer.
type Look struct {
	reading
	access.TokenList
	plans.Planner
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
	l.moment = func() view.Moment {
		// With no manager running, nobody could have heard an agent.
		now := o.Clock()
		return view.Moment{Now: now, Since: now, AgentVersion: o.Version}
	}
	l.Queries = query.New(s, func() view.Moment { return l.moment() }, nil)
	l.Planner = plans.NewPlanner(s, o, plans.Present{Moment: l.moment, Listening: l.listens.Load})
	return l, nil
}

// Close closes the store.
func (l *Look) Close() error { return l.store.Close() }
