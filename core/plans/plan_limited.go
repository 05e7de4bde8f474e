package plans

import (
	"context"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// allowedTo refuses a plan that reaches beyond a caller's fleets.
func (p Plan) allowedTo(caller access.Caller) error {
	if len(caller.Fleets) == 0 {
		return nil
	}
	for _, c := range p.Changes {
		touched := []string{c.Address}
		if c.MovedFrom != "" {
			touched = append(touched, c.MovedFrom) // what it was is taken over, too
		}
		for _, address := range touched {
			if c.Action != config.Drift && !caller.MayTouch(fleet.FleetAddress(address)) {
				return &access.DeniedError{Caller: caller.Name, UseCase: "plan", Fleet: fleet.FleetAddress(address)}
			}
		}
	}
	return nil
}

// visibleTo leaves other fleets out of what a limited caller sees of a plan.
func (p Plan) visibleTo(caller access.Caller) Plan {
	if len(caller.Fleets) == 0 {
		return p
	}
	p.Changes = visibleChanges(p.Changes, caller)
	p.Preview.Fleets = slices.DeleteFunc(
		slices.Clone(p.Preview.Fleets),
		func(f planner.FleetPlan) bool { return !caller.MayTouch(f.Address) },
	)
	p.Preview.Unplaced, p.Accounts = nil, nil // the whole installation's
	p.Preview.Reservations = caller.Reservations(p.Preview.Reservations)
	return p
}

// visibleChanges are those of the caller's fleets; of a caller without limits, all.
func visibleChanges(all []config.Change, caller access.Caller) []config.Change {
	if len(caller.Fleets) == 0 {
		return all
	}
	return slices.DeleteFunc(
		slices.Clone(all),
		func(c config.Change) bool { return !caller.MayTouch(fleet.FleetAddress(c.Address)) },
	)
}

// readable is what may be said of a definition before its secrets are looked at: a
// caller who is limited to fleets may name only those that were applied, for who
// plans a block learns whether the file that it refers to is there, and sometimes
// what is in it.
func (p Planner) readable(ctx context.Context, caller access.Caller) func(fleet.Definition) error {
	return func(d fleet.Definition) error {
		if len(caller.Fleets) == 0 {
			return nil
		}
		stored, _, err := p.store.Definition(ctx)
		if err != nil {
			return err
		}
		applied := map[string]bool{}
		for _, block := range blocksWithSecrets(stored.Definition) {
			applied[block.digest] = true
		}
		for _, block := range blocksWithSecrets(d) {
			if !applied[block.digest] {
				return &access.DeniedError{Caller: caller.Name, UseCase: "plan", Fleet: fleet.FleetAddress(block.address)}
			}
		}
		return nil
	}
}

// blockWithSecrets is a block in which secrets may be referred to.
type blockWithSecrets struct{ address, digest string }

func blocksWithSecrets(d fleet.Definition) (blocks []blockWithSecrets) {
	for _, p := range d.Providers {
		p.Assets = nil // the plugin's words
		blocks = append(blocks, blockWithSecrets{"provider." + string(p.Address), fleet.Digest(p)})
	}
	for _, s := range d.Schedulers {
		blocks = append(blocks, blockWithSecrets{"scheduler." + string(s.Address), fleet.Digest(s)})
	}
	return blocks
}
