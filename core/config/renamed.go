package config

import (
	"fmt"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// MaybeRenamed warns of each new fleet that is what a stored one was which the
// files no longer mention: under a new name its instances would be created while
// those of the old one run on.
func (l *Loaded) MaybeRenamed(stored fleet.Definition) diagnostic.List {
	report := l.document.SameTexts()
	gone := l.unmentioned(stored)
	for _, f := range l.Definition.Fleets {
		if slices.ContainsFunc(stored.Fleets, func(was fleet.RunnerFleet) bool { return was.Address == f.Address }) ||
			slices.ContainsFunc(l.Definition.Moved, func(m fleet.Move) bool { return m.To == f.Address }) {
			continue
		}
		at := slices.IndexFunc(gone, func(was fleet.RunnerFleet) bool { return sameInstances(was, f) })
		if at < 0 {
			continue
		}
		was := gone[at].Address
		gone = slices.Delete(gone, at, at+1)
		block := l.instances[f.Address]
		report.Warn(
			block.header,
			block.where,
			fmt.Sprintf("Was %s renamed to %s?", was, f.Address),
			fmt.Sprintf(
				"Under its new name it is a new fleet, and %s keeps its instances. To keep them under the new name, add:\n  "+
					"moved {\n    from = %s\n    to   = %s\n  }",
				was,
				was,
				f.Address,
			),
		)
	}
	return report.Sorted()
}

// unmentioned are the stored fleets that the files neither declare nor remove nor
// move.
func (l *Loaded) unmentioned(stored fleet.Definition) []fleet.RunnerFleet {
	return slices.DeleteFunc(slices.Clone(stored.Fleets), func(was fleet.RunnerFleet) bool {
		return slices.ContainsFunc(l.Definition.Fleets, func(f fleet.RunnerFleet) bool { return f.Address == was.Address }) ||
			slices.Contains(l.Definition.Removed, was.Address) ||
			slices.ContainsFunc(l.Definition.Moved, func(m fleet.Move) bool { return m.From == was.Address })
	})
}

// sameInstances says whether two fleets make the same instances for the same jobs.
func sameInstances(a, b fleet.RunnerFleet) bool {
	return a.Provider == b.Provider && a.Scheduler == b.Scheduler && a.Scope == b.Scope &&
		a.InstanceDigest() == b.InstanceDigest() && a.Class.ID() == b.Class.ID() && a.Image.ID("") == b.Image.ID("")
}
