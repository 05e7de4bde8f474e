package simulation

import (
	"fmt"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/ci"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// unlisted says that an instance's fleet follows a scheduler that lists no runners.
func (w *world) unlisted(id fleet.CapacityInstanceID) bool {
	return w.store.fleet(id).Scheduler.AdmitsOnce()
}

// mostAdmissions is how often a scheduler that admits once may be asked for a runner
// of one instance: once, and once more where the answer was lost.
const mostAdmissions = 2

// admissionsAreCounted: each admission makes a runner, so none is asked for without
// end, and each has a name of its own.
func (s *onceCI) admissionsAreCounted(e loop.CallScheduler, name string) {
	const rule = "an admission is asked for twice at most"
	s.asked[e.Instance]++
	if n := s.asked[e.Instance]; n > mostAdmissions {
		s.w.fail(rule, "%s is admitted for the %d. time", e.Instance, n)
	}
	if slices.ContainsFunc(s.runners, func(r *onceRunner) bool { return r.name == name }) {
		s.w.fail(rule, "there is a runner %s already", name)
	}
}

// credentialsStayOnTheirHost: a credential is one runner's, on one host.
func (s *onceCI) credentialsStayOnTheirHost(r *onceRunner, h *host) {
	if r.host != nil && r.host != h || r.instance != h.instance {
		s.w.fail("no credential is used by two hosts", "the credential of %s is used on %s", r.name, h.instance)
	}
}

// stoppedGetNoJob: once it is acknowledged that a runner gets no job any more, its
// instance gets none by another runner.
func (s *onceCI) stoppedGetNoJob(r *onceRunner) {
	for _, other := range s.runners {
		if other.instance == r.instance && other.stopping && s.w.store.instances[r.instance].Scheduling.Cordoned {
			s.w.fail("a stopped runner gets no job", "%s gets one, and %s was told to stop", r.name, other.name)
		}
	}
}

// nothingTakesAStopBack: it isn't even asked for.
func (s *onceCI) nothingTakesAStopBack(e loop.CallScheduler) {
	if e.Kind == ci.Uncordon {
		s.w.fail("nothing takes a stop back", "%s is to be uncordoned", e.Instance)
	}
}

// unsettled says what of the scheduler isn't yet as it should be; "": all is. Every
// healthy instance has a runner that can take jobs, and no other runner that its
// scheduler could count on is left running. One whose credential was lost never comes,
// and one that a restored scheduler doesn't know to be stopped has no process.
func (s *onceCI) unsettled() string {
	usable := map[fleet.CapacityInstanceID]int{}
	for _, r := range s.runners {
		if r.stopping || !r.asks || s.w.at-r.seen > lostAfter {
			continue
		}
		usable[r.instance]++
		if i := s.w.store.instances[r.instance]; i.State != fleet.Healthy || usable[r.instance] > 1 {
			return fmt.Sprintf("the scheduler counts on %s (%d), whose instance is %s", r.name, r.number, i.State)
		}
	}
	for _, i := range s.w.store.live() {
		if s.w.scheduled(i.ID) && usable[i.ID] == 0 {
			return fmt.Sprintf("%s is %s, and its scheduler counts on no runner of it", i.ID, i.State)
		}
	}
	return ""
}
