package queue

import (
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// eligible says that a runner meets every requirement of the jobs of a group.
// Nothing is relaxed: what was not admitted, a runner hasn't got. The rules are
// those by which the manager plans, so that what it makes for a job can take it.
func eligible(g *group, has forgeyard.Admit) bool {
	wants := g.requirement
	switch {
	case !met(wants.OS, has.OS),
		!met(wants.Arch, has.Arch),
		!met(wants.Trust, has.Trust),
		!met(wants.Device, has.Device),
		!met(wants.Isolation, has.Isolation):
		return false
	case wants.Signing != has.Signing: // signing runners are only for jobs that sign
		return false
	case wants.Confidential && !has.Confidential, wants.Hostile && !has.Hostile:
		return false
	case !containsAll(has.Capabilities, wants.Capabilities), !containsAll(has.Toolchain, wants.Toolchain):
		return false
	case has.Tenant != "" && has.Tenant != wants.Tenant, has.Project != "" && has.Project != wants.Project:
		return false
	case len(wants.Regions) > 0 && !slices.Contains(wants.Regions, has.Region):
		return false
	case has.Preemptible && !g.preemptible:
		return false
	}
	return true
}

// met: only an empty wish is met by any.
func met(wanted, has string) bool { return wanted == "" || wanted == has }

func containsAll(has, wanted []string) bool {
	for _, word := range wanted {
		if !slices.Contains(has, word) {
			return false
		}
	}
	return true
}

// fits says that what a job takes is within what a runner has free.
func fits(takes, free forgeyard.Resources) bool {
	if takes.CPUMilli > free.CPUMilli || takes.MemoryBytes > free.MemoryBytes || takes.DiskBytes > free.DiskBytes ||
		takes.GPU > free.GPU {
		return false
	}
	for name, amount := range takes.Named {
		if amount > free.Named[name] {
			return false
		}
	}
	return true
}

// take takes the resources of a job (or gives them back, where times is -1).
func take(from *forgeyard.Resources, job forgeyard.Resources, times int64) {
	from.CPUMilli -= times * job.CPUMilli
	from.MemoryBytes -= times * job.MemoryBytes
	from.DiskBytes -= times * job.DiskBytes
	from.GPU -= times * job.GPU
	for name, amount := range job.Named {
		if from.Named == nil {
			from.Named = map[string]int64{}
		}
		from.Named[name] -= times * amount
	}
}
