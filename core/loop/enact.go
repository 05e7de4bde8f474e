package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// plan asks the planner about the state as this step leaves it.
func (l *Loop) plan(w *step) planner.Output {
	l.holdWithoutBootstrap(w)
	l.holdBlocked(w)
	return l.settings.Planner(l.snapshotOf(w))
}

// paidFor is what ended instances are paid for. The store knows those that ended
// before this step; what ends in it is paid for, too.
func (w *step) paidFor() []fleet.Commitment {
	known := make(map[fleet.CapacityInstanceID]bool, len(w.stored.Commitments))
	for _, l := range w.stored.Commitments {
		known[l.Instance] = true
	}
	commitments := slices.Clip(w.stored.Commitments)
	for _, r := range w.rows {
		if commitment, paid := r.Commitment(); paid && !known[r.ID] {
			commitments = append(commitments, commitment)
		}
	}
	return commitments
}

// holdWithoutBootstrap holds the fleets whose new hosts couldn't be let in, so that none
// of theirs is drained for a replacement that can't come.
func (l *Loop) holdWithoutBootstrap(w *step) {
	type issuedIdentity struct {
		provider fleet.ProviderAddress
		kind     string
		platform fleet.Platform
	}
	known := map[issuedIdentity]error{}
	for id, f := range w.fleets {
		if f.Joined || f.Operational == fleet.FleetDraining {
			continue
		}
		which := issuedIdentity{f.Provider, f.Image.Bootstrap, f.Class.Platform}
		err, asked := known[which]
		if !asked {
			_, err = l.enrollment.Bootstrap(which.provider, which.kind, which.platform)
			known[which] = err
		}
		if err != nil {
			w.withoutBootstrap[id] = reason.Of(reason.BootstrapUnavailable{Message: err.Error()})
		}
	}
}

// withdrawOutdated gives up requests that wait to go out again although the
// definition has changed: a corrected file must not wait for the old request. What
// a call before may have left half made is cleaned up like any failed instance.
func (l *Loop) withdrawOutdated(w *step) {
	for _, r := range w.rows {
		if r.State != fleet.Provisioning || r.provision.State != fleet.OperationPending {
			continue
		}
		outdated := r.InstanceDigest != r.fleet.InstanceDigest() || r.Class != r.fleet.Class.ID() ||
			r.Image != r.fleet.Image.ID(l.settings.AgentVersion) || r.Provider != r.fleet.Provider
		if outdated && !w.isTrustedOlder(r, l.settings.AgentVersion) {
			w.move(r, fleet.Failed, lifecycle.Withdrawn, reason.RequestOutdated{})
		}
	}
}

// unobserved names the providers about whose instances nothing may be concluded
// now: they can't be seen, or their runners can't be heard.
func (l *Loop) unobserved(w *step) map[fleet.ProviderAddress]reason.Reason {
	out := map[fleet.ProviderAddress]reason.Reason{}
	for _, r := range w.rows {
		if p := l.provider(r.Provider); !p.Unobservable.IsZero() {
			out[r.Provider] = p.Unobservable
		} else if why, unheard := w.unheard[r.Provider]; unheard {
			out[r.Provider] = why
		}
	}
	for _, f := range w.fleets { // whose fleets may have nothing yet
		if p := l.provider(f.Provider); p.Blocked || !p.Fault.IsZero() {
			out[f.Provider] = p.Unobservable
		}
	}
	return out
}

// faults are what went wrong with the providers last.
func (l *Loop) faults() map[fleet.ProviderAddress]reason.Reason {
	out := map[fleet.ProviderAddress]reason.Reason{}
	for address, p := range l.providers {
		if !p.Fault.IsZero() {
			out[address] = p.Fault
		}
	}
	return out
}

// holdBlocked holds the fleets whose provider doesn't come back by itself: what
// no one can make isn't asked for.
func (l *Loop) holdBlocked(w *step) {
	w.blocked = map[fleet.RunnerFleetID]reason.Reason{}
	for id, f := range w.fleets {
		if p := l.provider(f.Provider); p.Blocked {
			w.blocked[id] = reason.Of(reason.ProviderDown{Provider: string(f.Provider), Because: p.Down})
		}
	}
}

// enact turns the plan into stored intents and moves, and records the decision
// behind them.
func (l *Loop) enact(w *step, plan planner.Output) error {
	rows := make(map[fleet.CapacityInstanceID]*row, len(w.rows))
	for _, r := range w.rows {
		rows[r.ID] = r
	}
	for _, p := range plan.Fleets {
		f := w.fleets[p.Fleet]
		created, err := l.createInstances(w, f, p)
		if err != nil {
			return err
		}
		p.Create = created
		l.countSurplus(w, p.Fleet, p.Counts.Capacity, p.Desired)
		if created > 0 || slices.ContainsFunc(p.Actions, func(a planner.Action) bool { return a.Kind == planner.Drain }) {
			l.scaled[p.Fleet] = w.now
		}
		for _, a := range p.Actions {
			w.applyAction(rows[a.Instance], a)
		}
		if p.Remember != nil {
			w.remembered = append(w.remembered, *p.Remember)
		}
		if err := l.recordDecisions(w, p); err != nil {
			return err
		}
	}
	return nil
}

// applyAction carries out one action of the plan on a row.
func (w *step) applyAction(r *row, a planner.Action) {
	switch a.Kind {
	case planner.Cancel:
		if w.moveFor(r, fleet.Terminated, a.Cause, a.Reason) {
			op := r.edit(r.provision)
			op.State, op.Reason = fleet.OperationNotCreated, reason.Of(reason.NotSent{})
		}
	case planner.Withdraw:
		w.moveFor(r, fleet.Terminating, a.Cause, a.Reason)
	case planner.Drain:
		w.moveFor(r, fleet.Draining, a.Cause, a.Reason)
	case planner.Reactivate:
		w.moveFor(r, fleet.Healthy, a.Cause, a.Reason)
	}
}

// createInstances stores the intent of p.Create new instances of a fleet and returns how
// many it stored: fewer where hosts of the platform could not be let in.
func (l *Loop) createInstances(w *step, f fleet.ManagedFleet, p planner.FleetPlan) (int, error) {
	if p.Create == 0 {
		return 0, nil
	}
	created := 0
	for _, group := range l.inBatches(f, requestsOf(p)) {
		of := f
		if group[0].Make != nil {
			of = f.From(*group[0].Make)
		}
		bootstrap, err := l.enrollment.Bootstrap(of.Provider, of.Image.Bootstrap, of.Class.Platform)
		if err != nil {
			w.recordFailure(
				f,
				&Failure{Class: fleet.ErrorInvalid, because: reason.Of(reason.BootstrapUnavailable{Message: err.Error()})},
			)
			return created, nil
		}
		identities, err := l.issueIdentities(w, len(group))
		if err != nil {
			return 0, fmt.Errorf("make enrollment tokens for %s: %w", f.Address, err)
		}
		for n, may := range group {
			if err := l.requestInstance(w, f, of, bootstrap, may, identities[n], p.CreateReason); err != nil {
				return 0, err
			}
			created++
		}
	}
	return created, nil
}

// requestsOf are what the instances that a plan makes may be made of. A planner that
// says nothing of offers leaves them to the provider.
func requestsOf(p planner.FleetPlan) []planner.Request {
	requests := make([]planner.Request, p.Create)
	copy(requests, p.Requests)
	return requests
}

// issuedIdentity is who a new instance is, and what its host enrolls with.
type issuedIdentity struct {
	id    fleet.CapacityInstanceID
	key   fleet.OperationID
	nonce []byte
	hash  string
	batch fleet.BatchPlace
}

// issueIdentities names instances that go out together. Several share the token of their batch.
func (l *Loop) issueIdentities(w *step, n int) ([]issuedIdentity, error) {
	identities := make([]issuedIdentity, n)
	for i := range identities {
		id, failed := l.settings.NewID(w.now)
		key, err := l.settings.NewID(w.now)
		if err := errors.Join(failed, err); err != nil {
			return nil, err
		}
		identities[i].id, identities[i].key = fleet.CapacityInstanceID(id), fleet.OperationID(key)
	}
	of := identities[0].key
	if n > 1 {
		key, err := l.settings.NewID(w.now)
		if err != nil {
			return nil, err
		}
		of = fleet.OperationID(key)
	}
	nonce, hash, err := l.enrollment.Issue(of)
	for i := range identities {
		identities[i].nonce, identities[i].hash = nonce, hash
		if n > 1 {
			identities[i].batch = fleet.BatchPlace{Key: of, Number: i, Size: n}
		}
	}
	return identities, err
}

// requestInstance stores one instance of a fleet and the operation that will provision it,
// with everything that goes to the provider (spec §151). of is the fleet as it is made
// from now.
func (l *Loop) requestInstance(
	w *step,
	f, of fleet.ManagedFleet,
	bootstrap fleet.BootstrapIntent,
	may planner.Request,
	issued issuedIdentity,
	why reason.Reason,
) error {
	instance := fleet.CapacityInstance{
		ID: issued.id, Fleet: f.ID, Provider: f.Provider, Key: issued.key,
		State: fleet.Requested, Since: w.now, Created: w.now, Cause: string(lifecycle.Decided), Reason: why,
		Class: of.Class.ID(), Image: of.Image.ID(l.settings.AgentVersion), InstanceDigest: of.InstanceDigest(),
		ImageDigest: of.Image.Digest, Cost: f.Cost.Of(may.Offers...),
	}
	tags, err := l.owner().Tags(f, instance)
	if err != nil {
		return fmt.Errorf("make the tags of an instance of %s: %w", f.Address, err)
	}
	intent, err := json.Marshal(fleet.ProvisionIntent{
		Fleet:          f.Address,
		Name:           inventory.InstanceName(f.Address, issued.key),
		Instance:       of.Instance,
		InstanceDigest: instance.InstanceDigest,
		Image:          of.Image.Ref,
		Platform:       f.Class.Platform,
		Tags:           tags,
		Offers:         may.Offers,
		Bootstrap:      bootstrap,
	})
	if err != nil {
		return fmt.Errorf("encode the request of %s: %w", f.Address, err)
	}
	op := &fleet.Operation{
		ID: instance.Key, Kind: fleet.ProvisionOperation, Instance: instance.ID, Fleet: f.ID, Provider: f.Provider,
		State: fleet.OperationPending, Request: intent, Created: w.now, Nonce: issued.nonce, TokenHash: issued.hash,
		Batch: issued.batch,
	}
	w.circuits.Begin(op.ID, may.Probes, w.now)
	r := &row{CapacityInstance: instance, fleet: f, provision: op, dirty: true}
	r.edit(op)
	w.add(r)
	w.transitions = append(w.transitions, Transition{Instance: r.ID, Fleet: f.Address, To: fleet.Requested, Reason: why})
	return nil
}

// recordDecisions records what was decided about a fleet and why. A plan that does
// nothing records nothing.
func (l *Loop) recordDecisions(w *step, p planner.FleetPlan) error {
	var decisions []fleet.Decision
	if !p.Turn.IsZero() {
		decisions = append(decisions, fleet.Decision{Kind: fleet.RolloutProgress, Reason: p.Turn})
	}
	if p.Create > 0 {
		decisions = append(decisions, fleet.Decision{Kind: fleet.ScaleUp, Add: p.Create, Reason: p.CreateReason})
	}
	for _, a := range p.Actions {
		decisions = append(
			decisions,
			fleet.Decision{Kind: decisionKind(a), Instances: []fleet.CapacityInstanceID{a.Instance}, Reason: a.Reason},
		)
	}
	for _, d := range decisions {
		id, err := l.settings.NewID(w.now)
		if err != nil {
			return err
		}
		d.ID, d.At, d.Fleet, d.Bounds = id, w.now, p.Fleet, p.Bounds
		w.decisions = append(w.decisions, d)
	}
	return nil
}

func decisionKind(a planner.Action) fleet.DecisionKind {
	switch {
	case a.Kind == planner.Cancel:
		return fleet.Cancel
	case a.Kind == planner.Reactivate:
		return fleet.Reactivate
	case a.Cause == lifecycle.ForRollout:
		return fleet.Replace
	}
	return fleet.ScaleDown
}

// retireFleets forgets removed fleets that have nothing left.
func (l *Loop) retireFleets(w *step) {
	live := map[fleet.RunnerFleetID]bool{}
	for _, r := range w.rows {
		live[r.Fleet] = live[r.Fleet] || !r.Concluded()
	}
	for id, f := range w.fleets {
		if f.Operational == fleet.FleetDraining && !live[id] {
			w.retired = append(w.retired, id)
		}
	}
	slices.Sort(w.retired)
}
