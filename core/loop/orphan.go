package loop

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

const (
	// DefaultOrphanGrace is how long an orphan must have been seen without a gap
	// before it is removed.
	DefaultOrphanGrace = 15 * time.Minute
	// orphansPerStep bounds how many are taken onto the books at once: if it is we
	// who are wrong about them, a person has time to see it.
	orphansPerStep = 5
)

// collectOrphans takes onto the books what is proven ours and has been listed
// without a gap for the grace [158]: by two complete inspections at least, both of
// this process. From there on it is footprint and goes the way of every
// termination. Nothing is taken while its provider can't be seen or heard.
func (l *Loop) collectOrphans(w *work) error {
	taken := 0
	for _, address := range l.providerAddresses() {
		p := l.providers[address]
		if p.facts == nil || p.blind != "" || w.unheard[address] != "" {
			continue
		}
		for _, u := range p.unrecorded {
			if taken == orphansPerStep {
				return nil
			}
			if !l.ripe(w, p, u) {
				continue
			}
			reason := fmt.Sprintf("%s has been listed for %s without a live record. %s", capital(described(u.resource)), p.sight.began.Sub(u.FirstSeen).Truncate(time.Second), u.Reason)
			if err := l.takeOrphan(w, p, u, lifecycle.OrphanFound, reason); err != nil {
				return err
			}
			taken++
		}
	}
	return nil
}

// ripe says whether an orphan may be removed by itself now.
func (l *Loop) ripe(w *work, p *provider, u unrecorded) bool {
	first, seen := p.strays[strayID{u.resource.Kind, u.resource.ID, u.Key}]
	_, declared := w.fleets[u.owner]
	if !declared || !seen || first.step >= p.sight.step {
		return false // of a fleet that was forgotten since, it is a person's to decide
	}
	if r := w.byKey[u.Key]; r != nil && r.Live() {
		return false // taken already, for another resource of the same instance
	}
	since := first.began
	if l.witnessed.After(since) {
		since = l.witnessed // the machine slept, or its clock was set
	}
	return p.sight.began.Sub(since) >= l.settings.OrphanGrace && w.fleets[u.owner].Operational != fleet.FleetFrozen
}

// takeOrphan makes a row in Terminating for an orphan: the ended one that its key
// made, or a new one from its proven tags where the store has none.
func (l *Loop) takeOrphan(w *work, p *provider, u unrecorded, cause lifecycle.Cause, reason string) error {
	f := w.fleets[u.owner]
	if u.ended == nil {
		claim := claimIn(u.resource.Tags)
		return l.newTerminating(w, p, f, taking{provider: u.Provider, id: claim.Instance, key: claim.Key, resource: u.resource, cause: cause, reason: reason})
	}
	r := w.byID[u.ended.Instance.ID] // departing: gone for us, and not yet for its scheduler
	if r == nil {
		op := u.ended.Provision
		r = &row{CapacityInstance: u.ended.Instance, fleet: f, provision: &op}
		w.add(r)
	}
	op := r.edit(r.provision)
	op.State, op.CallOver, op.Message = fleet.OperationSucceeded, p.sight.began, "Found by inspection after it had ended."
	if isInstance(u.resource) {
		w.record(r, u.resource.ID)
	}
	r.Conflict, r.Account = "", p.facts.Account
	if !w.move(r, fleet.Terminating, cause, reason) {
		return fmt.Errorf("%s", r.Conflict)
	}
	return nil
}

// taking is a resource that gets a new row to be removed by.
type taking struct {
	provider fleet.ProviderAddress
	id       fleet.CapacityInstanceID
	key      fleet.OperationID
	resource fleet.Resource
	cause    lifecycle.Cause
	reason   string
	adopted  string
}

// newTerminating stores an instance that is only there to be removed, with an
// operation that stands for whatever made it.
func (l *Loop) newTerminating(w *work, p *provider, f fleet.ManagedFleet, t taking) error {
	request, err := json.Marshal(fleet.ProvisionIntent{Fleet: f.Address, Instance: json.RawMessage(`{}`), Platform: f.Class.Platform, Tags: t.resource.Tags})
	if err != nil {
		return fmt.Errorf("encode what made %s: %w", t.resource.ID, err)
	}
	op := &fleet.Operation{
		ID: t.key, Kind: fleet.ProvisionOperation, Instance: t.id, Fleet: f.ID, Provider: t.provider, State: fleet.OperationSucceeded,
		Request: request, Created: w.now, CallOver: p.sight.began, Message: "Not in the store before; found by inspection.",
	}
	r := &row{fleet: f, provision: op, dirty: true, CapacityInstance: fleet.CapacityInstance{
		ID: t.id, Fleet: f.ID, Provider: op.Provider, Account: p.facts.Account, Key: t.key, Adopted: t.adopted,
		State: fleet.Terminating, Since: w.now, Created: w.now, Cause: string(t.cause), Reason: reason.Plain(t.reason),
		Class: f.Class.ID(), Image: f.Image.ID(l.settings.AgentVersion), InstanceDigest: f.InstanceDigest(),
		Seen: t.resource.State, SeenAt: p.sight.began, Zone: t.resource.Zone, MachineType: t.resource.MachineType, Detail: t.resource.Detail,
	}}
	if isInstance(t.resource) || t.adopted != "" {
		r.ProviderInstance = t.resource.ID
	}
	r.edit(op)
	w.add(r)
	w.transitions = append(w.transitions, Transition{Instance: r.ID, Fleet: f.Address, To: r.State, Reason: r.Reason})
	return nil
}

// add makes a row part of the step.
func (w *work) add(r *row) {
	w.rows = append(w.rows, r)
	w.byID[r.ID], w.byKey[r.Key], w.byOperation[r.provision.ID] = r, r, r
	w.index(r)
	w.indexBatch(r)
}
