package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// reading is what a manager and one who only looks have in common.
type reading struct {
	options Options
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
type Look struct{ reading }

var _ Reader = (*Look)(nil)

// ErrNothingApplied says that the state directory has no installation yet.
var ErrNothingApplied = errors.New("nothing has been applied yet; run: forgeyard-fleet apply")

// OpenToLook opens an installation for reading. Before the first apply the
// error is ErrNothingApplied.
func OpenToLook(ctx context.Context, o Options) (*Look, error) {
	if err := isInstalled(o.Place); err != nil {
		return nil, err
	}
	s, err := store.OpenReadOnly(ctx, databasePath(o.Place))
	if err != nil {
		return nil, err
	}
	l := &Look{reading{options: o, store: s}}
	l.observed = func() snapshot.Observations { return snapshot.Observations{} }
	return l, nil
}

// snapshotOf is a state that was loaded just now with what is known beyond it.
func (r *reading) snapshotOf(state snapshot.State) snapshot.Snapshot {
	return snapshot.Snapshot{Now: r.options.Clock(), AgentVersion: r.options.Version, State: state, Observations: r.observed()}
}

// isInstalled says with ErrNothingApplied that there is no store yet.
func isInstalled(p Place) error {
	if _, err := os.Stat(databasePath(p)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", p.State, ErrNothingApplied)
	}
	return nil
}

// Close closes the store.
func (l *Look) Close() error { return l.store.Close() }

// Plan compares a submission with what is stored.
func (r *reading) Plan(ctx context.Context, s Submission) (Plan, error) {
	caller, err := authorize(ctx, "plan")
	if err != nil {
		return Plan{}, err
	}
	p, err := r.planOf(ctx, caller, s.Prune, func(ctx context.Context) (*loadedSubmission, Bundle, error) {
		return loadSubmission(ctx, s, r.options, r.readable(ctx, caller))
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
func PlanFromNothing(ctx context.Context, s Submission, o Options) (Plan, error) {
	loaded, bundle, err := loadSubmission(ctx, s, o, nil)
	if err != nil {
		return Plan{}, err
	}
	p, err := makePlan(planInput{file: loaded.Definition, lock: bundle.Lock, newID: newID, Snapshot: snapshot.Snapshot{Now: o.Clock(), AgentVersion: o.Version}})
	p.Warnings = append(loaded.warnings, loaded.RemovesNothing(nil)...)
	return p, err
}

// planOf compares what load reads with what is stored. Of a big installation both
// take their time, and neither needs the other.
func (r *reading) planOf(ctx context.Context, caller Caller, prune bool, load func(context.Context) (*loadedSubmission, Bundle, error)) (Plan, error) {
	var (
		loaded *loadedSubmission
		bundle Bundle
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
	p.Warnings, p.Unrecorded = append(loaded.warnings, loaded.RemovesNothing(addressesOf(state))...), r.unrecordedFor(caller)
	p.Warnings = append(p.Warnings, agentless(loaded.Definition)...)
	p.Warnings = append(p.Warnings, stranded(stored.Definition, loaded.Definition, state)...)
	p.Warnings = append(p.Warnings, unheard(r.listens.Load(), loaded.Definition)...)
	if p.Approval.Authority, err = r.identity(ctx); err != nil {
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
	caller, err := authorize(ctx, "fleets")
	if err != nil {
		return nil, err
	}
	state, err := r.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	fleets := slices.DeleteFunc(view.Fleets(r.snapshotOf(state)), func(f view.Fleet) bool { return !caller.mayTouch(f.Address) })
	for n := range fleets {
		fleets[n].Unmet = caller.unmet(fleets[n].Unmet)
	}
	return fleets, nil
}

// Instances lists the live instances of the caller's fleets.
func (r *reading) Instances(ctx context.Context) ([]view.Instance, error) {
	caller, err := authorize(ctx, "instances")
	if err != nil {
		return nil, err
	}
	state, err := r.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(view.Instances(r.snapshotOf(state)), func(i view.Instance) bool { return !caller.mayTouch(i.Fleet) }), nil
}

// NotFoundError says that there is nothing of that name.
type NotFoundError struct {
	Kind, ID string
}

func (e *NotFoundError) Error() string {
	list := e.Kind + " list"
	if e.Kind == "fleet" {
		list = "list"
	}
	return fmt.Sprintf("there is no %s %q; run: forgeyard-fleet %s", e.Kind, e.ID, list)
}

// Decisions are the newest decisions about a fleet.
func (r *reading) Decisions(ctx context.Context, address fleet.FleetAddress, limit int) ([]fleet.Decision, error) {
	caller, err := authorize(ctx, "decisions")
	if err != nil {
		return nil, err
	}
	fleets, err := r.store.Fleets(ctx)
	if err != nil {
		return nil, err
	}
	n := slices.IndexFunc(fleets, func(f fleet.ManagedFleet) bool { return f.Address == address })
	if n < 0 || !caller.mayTouch(address) {
		return nil, &NotFoundError{Kind: "fleet", ID: string(address)}
	}
	return r.store.Decisions(ctx, fleets[n].ID, limit)
}

// loadedSubmission is a definition with the warnings about it.
type loadedSubmission struct {
	*config.Loaded
	warnings config.Diagnostics
}

// loadSubmission reads a submission whole, the plugins' own checks included. What
// readable refuses is left before any secret is looked at; nil refuses nothing.
func loadSubmission(ctx context.Context, s Submission, o Options, readable func(fleet.Definition) error) (*loadedSubmission, Bundle, error) {
	lock, err := lockOf(s.Lock)
	if err != nil {
		return nil, Bundle{}, &InvalidError{fmt.Sprintf("read %s: %v", pluginstore.LockFileName, err)}
	}
	plugins, err := pluginstore.Open(o.Place.Plugins)
	if err != nil {
		return nil, Bundle{}, err
	}
	bundle, err := readBundle(s.Sources, lock, plugins, o.Version)
	if err != nil {
		return nil, Bundle{}, err
	}
	if bundle.Requirements.Installation != o.Installation {
		return nil, Bundle{}, &InvalidError{fmt.Sprintf("the files are of installation %q, this manager is of %q; send them to their own manager", bundle.Requirements.Installation, o.Installation)}
	}
	if err := bundle.checkLocked(); err != nil {
		return nil, Bundle{}, &InvalidError{err.Error()}
	}
	loaded, found := bundle.Load(s.Variables)
	if found.HasErrors() {
		return nil, Bundle{}, found
	}
	if readable != nil {
		if err := readable(loaded.Definition); err != nil {
			return nil, Bundle{}, err
		}
	}
	if missing := missingSecrets(ctx, loaded, o); missing.HasErrors() {
		return nil, Bundle{}, missing
	}
	found = append(found, loaded.NoEffectYet()...)
	found = append(found, neverAdmitted(loaded.Definition)...)
	found = append(found, forecastless(loaded.Definition)...)
	found = append(found, ownBuilds(loaded.Definition, lock)...)
	complaints, err := bundle.validateWithPlugins(ctx, loaded, o)
	if err != nil {
		return nil, Bundle{}, err
	}
	found = append(found, complaints...)
	if found.HasErrors() {
		return nil, Bundle{}, found
	}
	if err := bundle.listInventories(ctx, loaded, o); err != nil {
		return nil, Bundle{}, err
	}
	return &loadedSubmission{Loaded: loaded, warnings: found}, bundle, nil
}

// missingSecrets complains about references that lead nowhere, on their lines.
// Only that there is a value is looked at.
func missingSecrets(ctx context.Context, loaded *config.Loaded, o Options) config.Diagnostics {
	var found config.Diagnostics
	for _, p := range loaded.Definition.Providers {
		if err := secret.Check(ctx, p.Config, o.lookup(), secret.ReadFile); err != nil {
			found = append(found, loaded.ProviderDiagnostics(p.Address, secret.Diagnostics(err))...)
		}
	}
	for _, s := range loaded.Definition.Schedulers {
		for _, one := range []struct {
			name      string
			reference fleet.SecretReference
		}{{"token", s.Token}, {"metrics_token", s.MetricsToken}} {
			if one.reference == "" {
				continue
			}
			if _, err := secret.Value(ctx, one.reference, o.lookup(), secret.ReadFile); err != nil {
				found = append(found, loaded.SchedulerDiagnostics(s.Address, secret.DiagnosticsAt(err, one.name))...)
			}
		}
	}
	return found
}

// neverAdmitted warns of fleets that no host of this version can join: its agent
// isolates jobs on Linux alone, and says so elsewhere.
func neverAdmitted(d fleet.Definition) config.Diagnostics {
	var found config.Diagnostics
	for _, f := range d.Fleets {
		if f.Admission.JobIsolation != fleet.JobIsolationNone && f.Class.Platform.OS != "linux" {
			found = append(found, config.Diagnostic{
				Severity: config.Warning, Block: string(f.Address), Summary: "No host will be admitted to " + string(f.Address),
				Detail: "The fleet asks for job isolation, as by default, and this version's agent can't isolate jobs on " + f.Class.Platform.OS + ". Where jobs are yours, write: admission { job_isolation = \"none\" }",
			})
		}
	}
	return found
}

// ownBuilds warns of plugins that are somebody's own build, which no signature
// vouches for and no other machine can install.
func ownBuilds(d fleet.Definition, lock pluginstore.Lock) config.Diagnostics {
	var found config.Diagnostics
	for _, r := range d.Plugins {
		if locked, there := lock.Plugin(r.Name); there && locked.Source == pluginstore.SourceDev {
			found = append(found, config.Diagnostic{
				Severity: config.Warning, Block: "forgeyard.required_plugins", Summary: fmt.Sprintf("The plugin %q is somebody's own build", r.Name),
				Detail: "It was installed with plugin install --dev: nobody signed it, and no other machine can install it. To take a published version, run: forgeyard-fleet plugin update " + r.Name,
			})
		}
	}
	return found
}
