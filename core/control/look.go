package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// Look reads what is, without becoming the writer. It works whether or not a
// manager runs.
type Look struct {
	options Options
	store   *store.Store
}

// ErrNothingApplied says that the state directory has no installation yet.
var ErrNothingApplied = errors.New("nothing has been applied yet; run: forgeyard-fleet apply")

// OpenToLook opens an installation for reading. Before the first apply the
// error is ErrNothingApplied.
func OpenToLook(ctx context.Context, o Options) (*Look, error) {
	if _, err := os.Stat(databasePath(o.Place)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", o.Place.State, ErrNothingApplied)
	}
	s, err := store.OpenReadOnly(ctx, databasePath(o.Place))
	if err != nil {
		return nil, err
	}
	return &Look{options: o, store: s}, nil
}

// Close closes the store.
func (l *Look) Close() error { return l.store.Close() }

// Manager says which manager runs, if one does.
func (l *Look) Manager() (Holder, bool) { return held(l.options.Place.State) }

// Fleets lists all fleets with their numbers, health and reasons.
func (l *Look) Fleets(ctx context.Context) ([]view.Fleet, error) {
	state, err := l.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	return view.Fleets(state, l.moment()), nil
}

// Decisions lists the newest decisions about a fleet, the newest first.
func (l *Look) Decisions(ctx context.Context, id fleet.RunnerFleetID, limit int) ([]view.Decision, error) {
	decisions, err := l.store.Decisions(ctx, id, limit)
	if err != nil {
		return nil, err
	}
	return view.Decisions(decisions), nil
}

// moment is now. Silence counts from the start of the manager that runs; with
// none, nobody could have heard an agent.
func (l *Look) moment() view.Moment {
	now := l.options.Clock()
	m := view.Moment{Now: now, Since: now, AgentVersion: l.options.Version}
	if h, running := l.Manager(); running && !h.Since.IsZero() {
		m.Since = h.Since
	}
	return m
}

// Instances lists the live instances.
func (l *Look) Instances(ctx context.Context) ([]view.Instance, error) {
	state, err := l.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	return view.Instances(state), nil
}

// NotFoundError says that there is no instance of that id.
type NotFoundError struct{ ID string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("there is no instance %q; run: forgeyard-fleet instance list", e.ID)
}

// Instance finds one instance, live or terminated, with its operations.
func (l *Look) Instance(ctx context.Context, id string) (view.Instance, error) {
	i, found, err := l.store.Instance(ctx, fleet.CapacityInstanceID(id))
	if err != nil {
		return view.Instance{}, err
	}
	if !found {
		return view.Instance{}, &NotFoundError{ID: id}
	}
	operations, err := l.store.Operations(ctx, i.ID)
	if err != nil {
		return view.Instance{}, err
	}
	subject, _, err := l.store.EnrollmentSubject(ctx, i.Key)
	if err != nil {
		return view.Instance{}, err
	}
	return view.One(i, subject.Fleet.Address, subject.Runner, operations), nil
}

// Plan compares a file's definition with what is stored. Before the first apply
// everything is new.
func (l *Look) Plan(ctx context.Context, file fleet.Definition) (Plan, error) {
	return planFrom(ctx, l.store, file, l.options)
}

// PlanFromNothing is the plan of a first apply.
func PlanFromNothing(file fleet.Definition, o Options) (Plan, error) {
	return makePlan(planInput{file: file, now: o.Clock(), agentVersion: o.Version, newID: newID})
}

func planFrom(ctx context.Context, s *store.Store, file fleet.Definition, o Options) (Plan, error) {
	stored, _, err := s.Definition(ctx)
	if err != nil {
		return Plan{}, err
	}
	state, err := s.Load(ctx)
	if err != nil {
		return Plan{}, err
	}
	return makePlan(planInput{file: file, stored: stored, state: state, now: o.Clock(), agentVersion: o.Version, newID: newID})
}
