package queue

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// group is the waiting jobs that want the same: what demand counts, and what is
// compared with a runner once for all of them.
type group struct {
	key         string
	requirement forgeyard.Requirement
	resources   forgeyard.Resources
	priority    int
	preemptible bool
	checkpoint  bool
	jobs        []*job // by sequence, never empty
}

// before orders groups: the higher priority first, then the one whose first job
// came first.
func (g *group) before(other *group) bool {
	if g.priority != other.priority {
		return g.priority > other.priority
	}
	return g.jobs[0].sequence < other.jobs[0].sequence
}

// groupKey is the same for submissions that want the same.
func groupKey(s Submission) string {
	key, err := json.Marshal(
		Submission{
			Requirement:        s.Requirement,
			Resources:          s.Resources,
			Priority:           s.Priority,
			PreemptibleAllowed: s.PreemptibleAllowed,
			Checkpoint:         s.Checkpoint,
		},
	)
	if err != nil {
		panic(err) // strings, numbers and maps of them always can be encoded
	}
	return string(key)
}

// wait puts a job where waiting jobs are: one that was lost comes before those
// that were submitted after it. The lock is held.
func (q *Queue) wait(j *job) {
	s := Submission{
		Requirement:        j.Requirement,
		Resources:          j.Resources,
		Priority:           j.Priority,
		PreemptibleAllowed: j.PreemptibleAllowed,
		Checkpoint:         j.Checkpoint,
	}
	key := groupKey(s)
	g := q.groups[key]
	if g == nil {
		g = &group{
			key:         key,
			requirement: s.Requirement,
			resources:   s.Resources,
			priority:    s.Priority,
			preemptible: s.PreemptibleAllowed,
			checkpoint:  s.Checkpoint,
		}
		q.groups[key] = g
	}
	at, _ := slices.BinarySearchFunc(g.jobs, j.sequence, bySequence)
	g.jobs = slices.Insert(g.jobs, at, j)
	j.State, j.group = Waiting, g
	q.waiting++
}

func bySequence(j *job, sequence int64) int { return cmp.Compare(j.sequence, sequence) }

// noLongerWaits takes a job from the waiting ones. The lock is held.
func (q *Queue) noLongerWaits(j *job) {
	g := j.group
	if at, found := slices.BinarySearchFunc(g.jobs, j.sequence, bySequence); found {
		if at == 0 {
			g.jobs[0], g.jobs = nil, g.jobs[1:]
		} else {
			g.jobs = slices.Delete(g.jobs, at, at+1)
		}
	}
	if len(g.jobs) == 0 {
		delete(q.groups, g.key)
	}
	j.group = nil
	q.waiting--
}

// queued counts the waiting jobs by what they want. What a tenant's limit leaves
// room for goes to its groups in the order in which they would be run.
func (q *Queue) queued(now time.Time) forgeyard.QueuedList {
	groups := make([]*group, 0, len(q.groups))
	for _, g := range q.groups {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *group) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	left := map[string]int{}
	for tenant, limit := range q.TenantLimits {
		left[tenant] = max(0, limit-q.running[tenant])
	}
	list := make(forgeyard.QueuedList, 0, len(groups))
	for _, g := range groups {
		count := len(g.jobs)
		admissible := count
		if room, limited := left[g.requirement.Tenant]; limited {
			admissible = min(count, room)
			left[g.requirement.Tenant] = room - admissible
		}
		oldest := now.Sub(g.jobs[0].Submitted)
		list = append(list, forgeyard.Queued{
			Requirement: g.requirement,
			Resources:   g.resources,
			Count:       count,
			Admissible:  &admissible,
			OldestWaitSeconds: max(
				0,
				oldest.Seconds(),
			),
			Priority:           g.priority,
			PreemptibleAllowed: g.preemptible,
			Checkpoint:         g.checkpoint,
		})
	}
	return list
}

// withinLimit says that the tenant of a group may run one job more.
func (q *Queue) withinLimit(g *group) bool {
	limit, limited := q.TenantLimits[g.requirement.Tenant]
	return !limited || q.running[g.requirement.Tenant] < limit
}
