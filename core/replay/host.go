package replay

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// host is one virtual host. Its instance and its usage are what the planner is shown.
type host struct {
	fleet.CapacityInstance
	snapshot.Usage
	fleet *fleetState
	// free is what it has left, in the dimensions of the replay.
	free []int64
	// began counts the jobs that it has begun.
	began int
	// busySince is when the first of the jobs that run now began.
	busySince int64
	launched  int64
	// left says that its agent has ended by itself, after its last job.
	left, gone bool
}

// takesWork says that the scheduler may give the host a job.
func (h *host) takesWork() bool {
	most := h.fleet.Runner.MaxJobs
	return h.State == fleet.Healthy && (most == 0 || h.began < most)
}

// fits says that it has room for one job.
func (h *host) fits(need []int64) bool {
	for d, n := range need {
		if n > h.free[d] {
			return false
		}
	}
	return true
}

// begin gives the host a job.
func (h *host) begin(need []int64, now int64) {
	for d, n := range need {
		h.free[d] -= n
	}
	if h.Leases == 0 {
		h.busySince = now
	}
	h.began++
	h.Leases++
	h.IdleSince = time.Time{}
}

// end takes a job away that has ended.
func (h *host) end(need []int64, now int64) {
	for d, n := range need {
		h.free[d] += n
	}
	if h.Leases--; h.Leases > 0 {
		return
	}
	h.IdleSince = at(now)
	h.fleet.busy += time.Duration(now - h.busySince)
	most := h.fleet.Runner.MaxJobs
	h.left = most > 0 && h.began >= most
}

// dimensions are the resources of a replay: cpu, memory, disk, gpu, slots and the
// named ones that a kind asks for.
type dimensions struct{ named []string }

func dimensionsOf(kinds []Kind) dimensions {
	names := map[string]bool{}
	for _, k := range kinds {
		for name := range k.Resources.Named {
			names[name] = true
		}
	}
	return dimensions{named: slices.Sorted(maps.Keys(names))}
}

func (d dimensions) vector(r fleet.ResourceCapacity, slots int64) []int64 {
	v := []int64{slots, r.CPUMilli, r.MemoryBytes, r.DiskBytes, r.GPU}
	for _, name := range d.named {
		v = append(v, r.Named[name])
	}
	return v
}

// share is how much of a host a job takes: of the resource that it takes most of.
func share(need, whole []int64) float64 {
	most := 0.0
	for d, n := range need {
		if whole[d] > 0 {
			most = max(most, float64(n)/float64(whole[d]))
		}
	}
	return most
}

// fleetState is one fleet of the replay with what is measured of it.
type fleetState struct {
	fleet.ManagedFleet
	class    fleet.CapacityClassID
	image    fleet.RunnerImageID
	digest   string
	capacity []int64 // of an empty host

	live, most           int
	launches, relaunches int
	jobs                 int
	instance, busy       time.Duration
	// used is job time, each job as its share of a host.
	used float64
	cost cost
	// departures are when hosts left that no later launch has been counted for.
	departures []int64
	scaled     time.Time
}

func (r *replay) newFleet(f fleet.ManagedFleet) *fleetState {
	return &fleetState{
		ManagedFleet: f, class: f.Class.ID(), image: f.Image.ID(agentVersion), digest: f.InstanceDigest(),
		capacity: r.dimensions.vector(f.Class.Resources, max(1, f.Class.Resources.Slots)),
	}
}

// agentVersion is that of all virtual hosts: none is replaced for a newer agent.
const agentVersion = "replay"

// launch makes one more host of a fleet. Nothing fails here, so that the request
// is on its way at once.
func (r *replay) launch(f *fleetState, why reason.Reason) {
	r.launches++
	h := &host{fleet: f, free: slices.Clone(f.capacity), launched: r.now}
	h.CapacityInstance = fleet.CapacityInstance{
		ID:               fleet.CapacityInstanceID(fmt.Sprintf("host-%09d", r.launches)),
		Fleet:            f.ID,
		Provider:         f.Provider,
		State:            fleet.Provisioning,
		Since:            at(r.now),
		Created:          at(r.now),
		Cause:            string(lifecycle.IntentCommitted),
		Reason:           why,
		Class:            f.class,
		Image:            f.image,
		InstanceDigest:   f.digest,
		ImageDigest:      f.Image.Digest,
		Cost:             f.Cost.Of(),
		ProviderInstance: fleet.ProviderInstanceRef(fmt.Sprintf("host-%09d", r.launches)),
		Admission:        fleet.Admission{Policy: f.Admission},
	}
	r.hosts = append(r.hosts, h)
	r.mostHosts = max(r.mostHosts, len(r.hosts))
	f.launches++
	f.live++
	f.most = max(f.most, f.live)
	for len(f.departures) > 0 && r.now-f.departures[0] > int64(r.settings.Relaunch) {
		f.departures = f.departures[1:]
	}
	if len(f.departures) > 0 {
		f.departures = f.departures[1:]
		f.relaunches++
	}
	r.happens(event{at: r.now + int64(r.settings.Boot), host: h, kind: booted})
}

// boot makes a host ready for work.
func (r *replay) boot(h *host) {
	if h.gone || h.State != fleet.Provisioning {
		return
	}
	r.become(h, fleet.Healthy, lifecycle.AdmissionGranted)
	h.IdleSince = at(r.now)
	h.Scheduling = fleet.Scheduling{Scheduler: h.fleet.Scheduler, Ref: fleet.SchedulerRunnerRef(h.ID)}
	r.fill(h)
}

// become moves a host through its lifecycle.
func (r *replay) become(h *host, state fleet.CapacityInstanceState, cause lifecycle.Cause) {
	h.State, h.Since, h.Cause = state, at(r.now), string(cause)
	h.Drain = fleet.NotDraining
	if state == fleet.Draining {
		h.Drain = fleet.Cordoned
	}
}

// leaveWhenIdle lets a host go that runs no job and may not have another. It takes
// one step: until then a drain can be taken back.
func (r *replay) leaveWhenIdle(h *host) {
	if h.left && h.State != fleet.Terminating {
		r.become(h, fleet.Terminating, lifecycle.RunnerLeft)
	}
	if h.Leases == 0 && (h.State == fleet.Terminating || h.State == fleet.Draining) {
		r.happens(event{at: r.now + int64(r.settings.Step), host: h, kind: left})
	}
}

// leave ends a host, unless its drain was taken back since the event was made.
func (r *replay) leave(h *host) {
	leaves := h.State == fleet.Terminating ||
		h.State == fleet.Draining && r.now-h.Since.UnixNano() >= int64(r.settings.Step)
	if leaves && !h.gone && h.Leases == 0 {
		r.end(h)
	}
}

// end takes a host off the books, and bills it.
func (r *replay) end(h *host) {
	h.gone, h.State, h.Since = true, fleet.Terminated, at(r.now)
	f := h.fleet
	f.live--
	f.departures = append(f.departures, r.now)
	r.bill(h)
	begins, _ := fleet.DayOf(at(r.now))
	r.commitments = slices.DeleteFunc(r.commitments, func(l fleet.Commitment) bool { return !l.Until.After(begins) })
	if commitment, paid := h.Commitment(); paid {
		r.commitments = append(r.commitments, commitment)
	}
	r.hosts = slices.DeleteFunc(r.hosts, func(other *host) bool { return other == h })
}

// bill counts the time of a host up to now.
func (r *replay) bill(h *host) {
	lived := time.Duration(r.now - h.launched)
	h.fleet.instance += lived
	h.fleet.cost.add(h.fleet.Cost, h.PaidUntil(at(r.now)).Sub(h.Created))
	if h.Leases > 0 {
		h.fleet.busy += time.Duration(r.now - h.busySince)
	}
}
