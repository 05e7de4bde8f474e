package config

import (
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Change is what applying one definition over another does to one block.
type Change struct {
	Action Action `json:"action"`
	// Address is fleet.NAME, fleet.NAME["KEY"], provider.PLUGIN.NAME,
	// scheduler.TYPE.NAME, reservation.NAME, plugin.NAME, policy or forgeyard.
	Address string `json:"address"`
	// MovedFrom is the address that a moved fleet had; its instances are kept.
	// The attribute "address" shows the same.
	MovedFrom string `json:"moved_from,omitempty"`
	// Attributes are sorted by path; of a block that isn't changed but created
	// they are all that it has.
	Attributes []AttributeChange `json:"attributes,omitempty"`
	// ReplacesInstances says that hosts of this fleet no longer are what the
	// file asks for, and will be replaced.
	ReplacesInstances bool `json:"replaces_instances,omitempty"`
}

// Action is what happens to a block.
type Action string

// The actions. Drift is what the file no longer mentions: it runs on under its
// last applied definition and is never removed by that. Only a reservation ends
// with its block, as Drain.
const (
	Create Action = "create"
	Modify Action = "change"
	Drain  Action = "drain"
	Drift  Action = "drift"
)

// Diff is what turns old into new, sorted by address. Equal definitions have
// none, and a removed block for a fleet that old doesn't have does nothing.
func Diff(old, new fleet.Definition) []Change {
	moves := new.MovesFrom(old)
	before, after := byAddress(old), byAddress(new)
	movedFrom := map[string]string{}
	for _, move := range moves {
		was := before[string(move.From)]
		delete(before, string(move.From))
		before[string(move.To)] = was
		movedFrom[string(move.To)] = string(move.From)
	}
	changes := slices.Concat(
		compare(
			map[string]attributes{"forgeyard": forgeyardAttributes(old)},
			map[string]attributes{"forgeyard": forgeyardAttributes(new)},
			nil,
		),
		compare(
			map[string]attributes{"policy": policyAttributes(old)},
			map[string]attributes{"policy": policyAttributes(new)},
			nil,
		),
		compare(pluginsByAddress(old), pluginsByAddress(new), nil),
		compare(providersByAddress(old), providersByAddress(new), nil),
		compare(schedulersByAddress(old), schedulersByAddress(new), nil),
		withdrawn(compare(reservationsByAddress(old), reservationsByAddress(new), nil)),
		compare(fleetsByAddress(before, movedFrom), fleetsByAddress(after, nil), new.Removed),
	)
	for i := range changes {
		changes[i].MovedFrom = movedFrom[changes[i].Address]
		changes[i].markReplacement(before, after)
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return strings.Compare(a.Address, b.Address) })
	return changes
}

func byAddress(definition fleet.Definition) map[string]fleet.RunnerFleet {
	result := make(map[string]fleet.RunnerFleet, len(definition.Fleets))
	for _, f := range definition.Fleets {
		result[string(f.Address)] = f
	}
	return result
}

func compare(old, new map[string]attributes, removed []fleet.FleetAddress) []Change {
	var changes []Change
	for address, wanted := range new {
		before, existed := old[address]
		change := Change{Action: Modify, Address: address, Attributes: before.changesTo(wanted)}
		if !existed || len(before) == 0 {
			change.Action = Create
		}
		if len(change.Attributes) > 0 || !existed {
			changes = append(changes, change)
		}
	}
	for address := range old {
		if _, kept := new[address]; kept {
			continue
		}
		action := Drift
		if slices.Contains(removed, fleet.FleetAddress(address)) {
			action = Drain
		}
		changes = append(changes, Change{Action: action, Address: address})
	}
	return changes
}

// withdrawn makes removals of what the file no longer mentions: nothing runs on
// without its block but a promise.
func withdrawn(changes []Change) []Change {
	for n := range changes {
		if changes[n].Action == Drift {
			changes[n].Action = Drain
		}
	}
	return changes
}

// markReplacement finds out whether instances of a changed fleet are replaced,
// and by which attributes.
func (c *Change) markReplacement(old, new map[string]fleet.RunnerFleet) {
	if c.Action != Modify {
		return
	}
	before, found := old[c.Address]
	after, still := new[c.Address]
	if !found || !still {
		return
	}
	causes := immutableAttributes(before).changesTo(immutableAttributes(after))
	for _, cause := range causes {
		c.ReplacesInstances = true
		for i, attribute := range c.Attributes {
			if attribute.Path == cause.Path || strings.HasPrefix(cause.Path, attribute.Path+".") ||
				strings.HasPrefix(attribute.Path, cause.Path+".") {
				c.Attributes[i].ReplacesInstances = true
			}
		}
	}
	// The digests have the last word, should a difference not show in the text.
	if before.InstanceDigest() != after.InstanceDigest() || before.Class.ID() != after.Class.ID() ||
		before.Image.ID("") != after.Image.ID("") {
		c.ReplacesInstances = true
	}
}
