package planner

import (
	"maps"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// dimension is one resource of a job beside that of a host.
type dimension struct {
	name      string
	job, host int64
}

// dimensions lists the resources that a job takes, in a fixed order. Slots are
// not among them: every job takes one.
func dimensions(job, host fleet.ResourceCapacity) []dimension {
	all := []dimension{
		{"cpu", job.CPUMilli, host.CPUMilli},
		{"memory", job.MemoryBytes, host.MemoryBytes},
		{"disk", job.DiskBytes, host.DiskBytes},
		{"gpu", job.GPU, host.GPU},
	}
	for _, name := range slices.Sorted(maps.Keys(job.Named)) {
		all = append(all, dimension{name, job.Named[name], host.Named[name]})
	}
	return slices.DeleteFunc(all, func(d dimension) bool { return d.job == 0 })
}

// room is what a host has left.
type room struct {
	free  fleet.ResourceCapacity
	slots int64
}

// roomOf is an empty host of a class. A class that says no number of slots has
// one: a host that nothing is known about runs one job at a time.
func roomOf(c fleet.CapacityClass) room {
	return room{free: c.Resources, slots: max(1, c.Resources.Slots)}
}

// without is the room beside so many leases. What each of them takes isn't known
// to anybody but the scheduler, so each is taken for an even share.
func (r room) without(leases int) room {
	total := r.slots
	r.slots = max(0, total-int64(leases))
	share := func(n int64) int64 { return n / total * r.slots }
	r.free.CPUMilli, r.free.MemoryBytes, r.free.DiskBytes = share(
		r.free.CPUMilli,
	), share(
		r.free.MemoryBytes,
	), share(
		r.free.DiskBytes,
	)
	r.free.GPU = share(r.free.GPU)
	if len(r.free.Named) > 0 && leases > 0 {
		named := make(map[string]int64, len(r.free.Named))
		for name, n := range r.free.Named {
			named[name] = share(n)
		}
		r.free.Named = named
	}
	return r
}

// takes says whether an empty host has room for one job.
func takes(host, job fleet.ResourceCapacity) bool {
	for name, n := range job.Named {
		if n > host.Named[name] {
			return false
		}
	}
	return job.CPUMilli <= host.CPUMilli && job.MemoryBytes <= host.MemoryBytes && job.DiskBytes <= host.DiskBytes &&
		job.GPU <= host.GPU
}
