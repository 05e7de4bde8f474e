package snapshot

import (
	"cmp"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Snapshot is everything that is known at one time. Don't write to it, nor to what
// its maps and lists hold.
type Snapshot struct {
	Now time.Time
	// AgentVersion is the version of the agent that new instances get.
	AgentVersion string
	// State is what is stored, and Observations what a running manager knows beyond.
	State
	Observations
}

// Instance is a capacity instance with what is known of it beyond its own record.
type Instance struct {
	fleet.CapacityInstance
	// Busy says that the agent's last word was that a job runs, or that its
	// scheduler shows a lease.
	Busy bool
	// Leases and IdleSince are its Usage.
	Leases    int
	IdleSince time.Time
	// Silent says that heartbeats are missing.
	Silent bool
	// Left says that its agent has ended by itself.
	Left bool
	// HeadsFor is the zone of the first offer of its request, until it is seen.
	HeadsFor string
	// JoinUntil is how long its asset may still be joined, where it waits for that.
	JoinUntil time.Time
	// Failure is what went wrong with it in this step; zero: nothing.
	Failure reason.Reason
	// Pinned says that a person wants it to stay.
	Pinned bool
}

// ObservedInstances are the live instances with what is known of each, by fleet and
// id, and after them those that ended in this step by a failure. The list is the
// caller's own.
func (s *Snapshot) ObservedInstances() []Instance {
	runners := s.RunnersByInstance()
	fleets := make(map[fleet.RunnerFleetID]*fleet.ManagedFleet, len(s.Fleets))
	for n := range s.Fleets {
		fleets[s.Fleets[n].ID] = &s.Fleets[n]
	}
	joinUntil := make(map[fleet.CapacityInstanceID]time.Time, len(s.Claims))
	for _, c := range s.Claims {
		joinUntil[c.Instance] = c.Expires
	}
	pinned := s.pinned()
	out := make([]Instance, 0, len(s.Instances)+len(s.Failures))
	var unplaced []int // instances that no one has seen in a zone yet
	for _, stored := range s.liveByFleet() {
		i := s.observe(stored, runners[stored.ID], fleets[stored.Fleet])
		i.Pinned = pinned[i.ID]
		if stored.Unjoined() {
			i.JoinUntil = joinUntil[i.ID]
		}
		if i.Zone == "" && spreads(fleets[i.Fleet]) {
			unplaced = append(unplaced, len(out))
		}
		out = append(out, i)
	}
	s.headFor(out, unplaced)
	for n := range s.Departing {
		if stored := &s.Departing[n]; !s.Failures[stored.ID].IsZero() {
			out = append(out, s.observe(stored, runners[stored.ID], fleets[stored.Fleet]))
		}
	}
	return out
}

// spreads says that a fleet spreads its instances over zones or regions; nil doesn't.
func spreads(f *fleet.ManagedFleet) bool {
	return f != nil && (f.Placement.Spread == fleet.SpreadZone || f.Placement.Spread == fleet.SpreadRegion)
}

// liveByFleet are the live instances by fleet and id: pointers, since there may be
// ten thousand.
func (s *State) liveByFleet() []*fleet.CapacityInstance {
	live := make([]*fleet.CapacityInstance, 0, len(s.Instances))
	for n := range s.Instances {
		if s.Instances[n].Live() {
			live = append(live, &s.Instances[n])
		}
	}
	slices.SortFunc(live, func(a, b *fleet.CapacityInstance) int {
		return cmp.Or(cmp.Compare(a.Fleet, b.Fleet), cmp.Compare(a.ID, b.ID))
	})
	return live
}

// observe is an instance with what its runner and its scheduler show. The runner and
// the fleet may be nil.
func (s *Snapshot) observe(stored *fleet.CapacityInstance, runner *fleet.Runner, of *fleet.ManagedFleet) Instance {
	usage := s.Usage[stored.ID]
	i := Instance{CapacityInstance: *stored, Leases: usage.Leases, IdleSince: usage.IdleSince}
	i.Failure = s.Failures[stored.ID]
	// What the agent runs for a scheduler is the scheduler's own worker.
	i.Busy = stored.Scheduling.Scheduler != "" && usage.Leases > 0
	if runner == nil {
		return i
	}
	i.Busy = i.Busy || stored.Scheduling.Scheduler == "" && runner.Report.Phase == fleet.PhaseRunning
	i.Left = !runner.Left.IsZero()
	if of != nil {
		i.Silent = s.SilentFor(stored.Provider, *runner, s.Now) > of.Timeouts.Heartbeat
	}
	return i
}

// headFor sets where the instances go that no one has seen in a zone yet.
func (s *Snapshot) headFor(instances []Instance, unplaced []int) {
	if len(unplaced) == 0 {
		return
	}
	byKey := make(map[fleet.OperationID]*Instance, len(unplaced))
	for _, n := range unplaced {
		byKey[instances[n].Key] = &instances[n]
	}
	for n := range s.Operations {
		op := &s.Operations[n]
		if i := byKey[op.ID]; i != nil {
			if offers := op.Offers(); len(offers) > 0 {
				i.HeadsFor = offers[0].Zone
			}
		}
	}
}

// RunnersByInstance are the runners by the instance that they run on.
func (s *State) RunnersByInstance() map[fleet.CapacityInstanceID]*fleet.Runner {
	out := make(map[fleet.CapacityInstanceID]*fleet.Runner, len(s.Runners))
	for n := range s.Runners {
		out[s.Runners[n].Instance] = &s.Runners[n]
	}
	return out
}

// pinned are the instances with a pin that holds.
func (s *Snapshot) pinned() map[fleet.CapacityInstanceID]bool {
	if len(s.Overrides.Pins) == 0 {
		return nil
	}
	pinned := make(map[fleet.CapacityInstanceID]bool, len(s.Overrides.Pins))
	for _, p := range s.Overrides.Pins {
		pinned[p.Instance] = pinned[p.Instance] || s.Now.Before(p.Until)
	}
	return pinned
}
