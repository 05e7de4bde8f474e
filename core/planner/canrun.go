package planner

import (
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// CanRun says why a fleet's hosts can't run such jobs, by the first requirement
// that they don't meet (spec §24, §28), or by what the policy says; zero: they can. Whether
// there is room for them now is another matter.
func CanRun(policy fleet.InstallationPolicy, jobs fleet.QueuedDemand, f fleet.ManagedFleet) reason.Reason {
	return reason.Of(eligible(&policy, &jobs, &f).reason)
}
