package planner

import "github.com/forgeyard/forgeyard-fleet/core/fleet"

// eligibility finds the fleets for each kind of jobs. Kinds often differ by their
// resources alone, and there may be hundreds of kinds and of fleets.
type eligibility struct {
	policy   *fleet.InstallationPolicy
	supplies []*supply
	// known are the fleets that meet requirements, the resources aside.
	known map[string][]*supply
}

// of are the fleets that can run the jobs, in their order of preference.
func (e eligibility) of(jobs *fleet.QueuedDemand) (can []*supply) {
	bare := fleet.QueuedDemand{Requirement: jobs.Requirement, PreemptibleAllowed: jobs.PreemptibleAllowed}
	key := fleet.Digest(bare)
	able, known := e.known[key]
	if !known {
		for _, s := range e.supplies {
			if eligible(e.policy, &bare, &s.fleet).ok() {
				able = append(able, s)
			}
		}
		e.known[key] = able
	}
	for _, s := range able {
		if takes(s.fleet.Class.Resources, jobs.Resources) {
			can = append(can, s)
		}
	}
	return can
}

// missed says of every fleet what it lacks for the jobs, where none can run them.
func (e eligibility) missed(jobs *fleet.QueuedDemand) (misses []nearMiss) {
	for _, s := range e.supplies {
		misses = append(misses, nearMiss{eligible(e.policy, jobs, &s.fleet), s.fleet.Address})
	}
	return misses
}
