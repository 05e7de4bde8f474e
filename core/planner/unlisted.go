package planner

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// knownAfter is how long an admitted runner may take to appear among those that
// its scheduler counts as able to take jobs.
const knownAfter = 2 * time.Minute

// occupy takes the room away that running jobs have on hosts of which the
// scheduler gives only sums: so many jobs are on the hosts that are there,
// whichever, and hosts beyond the number of runners that take jobs take none. It
// makes numbers, and says of no single host what it does.
func occupy(group fleet.UnmetDemand, supplies []*supply) {
	sum := group.Unlisted
	if sum == nil {
		return
	}
	var can []*supply
	known := 0
	for _, s := range supplies {
		if !eligible(group, s.fleet).ok() {
			continue
		}
		can = append(can, s)
		for _, b := range s.there {
			if b.known {
				known++
			}
		}
	}
	useless := max(0, known-sum.Usable)
	left := sum.Jobs
	for _, s := range can {
		for n := len(s.there) - 1; n >= 0 && useless > 0; n-- {
			if b := &s.there[n]; b.known {
				b.useless, b.room.slots = true, 0
				useless--
			}
		}
		waiting := s.jobs
		left -= s.fill(s.there, group.Resources, left)
		s.occupied += s.jobs - waiting
		s.jobs = waiting
	}
}
