package planner

import (
	"cmp"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// knownAfter is how long an admitted runner may take to appear among those that
// its scheduler counts as able to take jobs.
const knownAfter = 2 * time.Minute

// unlisted are the groups of which the scheduler gives only sums, in an order of their
// own: where two of them share hosts, the first takes them first. It is an order of
// kinds, so that another job that waits moves no job that runs.
func unlisted(queued []fleet.QueuedDemand) []fleet.QueuedDemand {
	groups := slices.DeleteFunc(slices.Clone(queued), func(g fleet.QueuedDemand) bool { return g.Unlisted == nil })
	if len(groups) > 1 {
		slices.SortFunc(groups, func(a, b fleet.QueuedDemand) int {
			return cmp.Or(
				cmp.Compare(a.Requirement.Queue, b.Requirement.Queue),
				cmp.Compare(digestOfKind(a), digestOfKind(b)),
				cmpUnlisted(a, b),
			)
		})
	}
	return groups
}

// cmpUnlisted orders groups of one kind by what runs of them; those of which that is
// listed come first.
func cmpUnlisted(a, b fleet.QueuedDemand) int {
	of := func(g fleet.QueuedDemand) fleet.UnlistedUsage {
		if g.Unlisted == nil {
			return fleet.UnlistedUsage{Jobs: -1}
		}
		return *g.Unlisted
	}
	return cmp.Or(cmp.Compare(of(a).Jobs, of(b).Jobs), cmp.Compare(of(a).Usable, of(b).Usable))
}

// occupy takes the room away that running jobs have on hosts of which the
// scheduler gives only sums: so many jobs are on the hosts that are there,
// whichever, and hosts beyond the number of runners that take jobs take none. It
// makes numbers, and says of no single host what it does. can are the fleets that
// run such jobs.
func occupy(jobs *fleet.QueuedDemand, can []*supply) {
	useless := -jobs.Unlisted.Usable
	for _, s := range can {
		for _, b := range s.there {
			if b.known {
				useless++
			}
		}
	}
	left := jobs.Unlisted.Jobs
	for _, s := range can {
		host := roomOf(s.fleet.Class)
		for n := len(s.there) - 1; n >= 0 && useless > 0; n-- {
			if b := &s.there[n]; b.known {
				b.useless, b.leases = true, int(host.slots)
				useless--
			}
		}
		shares := shares(host, jobs.Resources)
		for n := range s.there {
			b := &s.there[n]
			if k := min((int(host.slots)-b.leases)/shares, left); k > 0 {
				b.leases += k * shares
				b.used = true
				s.occupied += k
				left -= k
			}
		}
	}
}

// shares is how many leases a job is taken for. A lease is an even share of a host,
// and a job may be larger.
func shares(host room, job fleet.ResourceCapacity) int {
	fit := host.slots
	for _, d := range dimensions(job, host.free) {
		fit = min(fit, d.host/d.job)
	}
	fit = max(1, fit)
	return int((host.slots + fit - 1) / fit)
}
