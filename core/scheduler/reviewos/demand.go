package reviewos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// unassigned is the queue of what is in no queue: runners that weren't assigned to
// one, and jobs that match no runner anywhere.
const unassigned = "unassigned"

// Demand scrapes the metrics. A missing series doesn't mean zero: the demand
// is unknown then.
func (c *Client) Demand(ctx context.Context) (fleet.CapacityDemandSnapshot, error) {
	const doing = "read the metrics"
	began := c.Clock()
	text, err := c.send(ctx, doing, http.MethodGet, MetricsPath, c.Metrics, nil, nil)
	if err != nil {
		return fleet.CapacityDemandSnapshot{}, metricsRefusal(err)
	}
	queues, err := parseMetrics(string(text))
	if err != nil {
		return fleet.CapacityDemandSnapshot{}, &scheduler.NonsenseError{Doing: doing, Err: err}
	}
	for _, q := range c.Queues {
		if queues[q.Name] == nil {
			return fleet.CapacityDemandSnapshot{}, &scheduler.NonsenseError{
				Doing: doing,
				Err: fmt.Errorf(
					"the queue %q, which the file maps, isn't in it, and every queue is reported, also at zero. Was it renamed, or "+
						"may the token not see it",
					q.Name,
				),
			}
		}
	}
	s := fleet.CapacityDemandSnapshot{
		ObservedAt: began,
		Queued:     c.waiting(queues, c.pausedQueues(ctx)),
		Concerns:   c.concerns(queues, began),
	}
	s.ID = fleet.DemandSnapshotID(fleet.Digest(s.Queued))
	if err := s.Check(); err != nil {
		return fleet.CapacityDemandSnapshot{}, &scheduler.NonsenseError{Doing: doing, Err: err}
	}
	return s, nil
}

func metricsRefusal(err error) error {
	if answer := (*StatusError)(
		nil,
	); errors.As(err, &answer) &&
		(answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden) {
		return &scheduler.RefusedError{
			Doing:  answer.Doing,
			Answer: answer.Said,
			Advice: "Check metrics_token of the scheduler block.",
		}
	}
	return err
}

// waiting is the demand of the queues, by name. One that isn't mapped counts
// where jobs wait in it: nothing of the file runs them, and somebody should know.
func (c *Client) waiting(queues map[string]*queueFacts, paused map[string]bool) []fleet.QueuedDemand {
	out := []fleet.QueuedDemand{}
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		facts := queues[name]
		group := fleet.QueuedDemand{
			Requirement: fleet.SchedulingRequirementSet{Queue: name}, Count: facts.waiting, Admissible: facts.waiting,
			OldestWait: time.Duration(facts.oldest * float64(time.Second)),
		}
		if paused[name] {
			group.Admissible = 0 // whatever waits there isn't to run now
		}
		at := slices.IndexFunc(c.Queues, func(q fleet.SchedulerQueue) bool { return q.Name == name })
		switch {
		case at >= 0:
			job := Job(c.Queues[at])
			group.Requirement, group.Resources, group.PreemptibleAllowed = job.Requirement, job.Resources, job.PreemptibleAllowed
			group.Unlisted = &fleet.UnlistedUsage{
				Jobs:   facts.running,
				Usable: facts.runners[lifecycleIdle] + facts.runners[lifecycleRunning],
			}
		case facts.waiting == 0:
			continue
		}
		out = append(out, group)
	}
	return out
}

// Job is what one job of a mapped queue needs.
func Job(q fleet.SchedulerQueue) fleet.QueuedDemand {
	return fleet.QueuedDemand{Requirement: requirementOf(q), Resources: resourcesOf(q), PreemptibleAllowed: q.Preemptible}
}

// requirementOf is what the jobs of a mapped queue require: the class that the
// file says, and nothing of it is left out. ReviewOS calls no job hostile; the file
// may.
func requirementOf(q fleet.SchedulerQueue) fleet.SchedulingRequirementSet {
	class := q.Class
	return fleet.SchedulingRequirementSet{
		Queue:        q.Name,
		Class:        class.Name,
		OS:           class.Platform.OS,
		Arch:         class.Platform.Arch,
		Trust:        class.Trust,
		Tenant:       q.Tenant,
		Project:      q.Project,
		Capabilities: class.Capabilities,
		Toolchain:    class.Toolchain,
		Device:       class.Device,
		Isolation:    class.Isolation,
		Signing:      class.Signing,
		Confidential: class.Confidential,
		Hostile:      q.Hostile,
	}
}

// resourcesOf is what one job of a queue takes; where the file doesn't say, a
// whole host.
func resourcesOf(q fleet.SchedulerQueue) fleet.ResourceCapacity {
	if job := q.Job; job.CPUMilli != 0 || job.MemoryBytes != 0 || job.DiskBytes != 0 {
		return job
	}
	whole := q.Class.Resources
	whole.Slots = 0
	return whole
}

// risingFor is how long a number that rose counts as rising.
const risingFor = 15 * time.Minute

type trendKey struct{ queue, lifecycle string }

// trend is what a number was, and when it last rose.
type trend struct {
	value int
	rose  time.Time
}

// rises takes in a new value and says whether it has risen lately. The first one
// says nothing: it may have been so for weeks.
func (c *Client) rises(key trendKey, value int, now time.Time) bool {
	t := c.trends[key]
	if t == nil {
		t = &trend{value: value}
		c.trends[key] = t
	}
	if value > t.value {
		t.rose = now
	}
	if value == 0 || t.rose.After(now) { // nothing is lost any more, or the clock was set back
		t.rose = time.Time{}
	}
	t.value = value
	return !t.rose.IsZero() && now.Sub(t.rose) < risingFor
}

// concerns are what is amiss with the runners of the mapped queues, and what is in
// no queue.
func (c *Client) concerns(queues map[string]*queueFacts, now time.Time) []fleet.DemandConcern {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []fleet.DemandConcern
	for _, q := range c.Queues {
		runners := queues[q.Name].runners
		if n := runners[lifecycleLost]; c.rises(trendKey{q.Name, lifecycleLost}, n, now) {
			out = append(out, fleet.DemandConcern{
				Kind:  fleet.RunnersLost,
				Class: q.Class.Name,
				Sentence: fmt.Sprintf(
					"More and more runners of the queue %q stopped talking to ReviewOS, perhaps in the middle of a job: %d are lost.",
					q.Name,
					n,
				),
			})
		}
		if n := runners[lifecycleNeverSeen]; c.rises(trendKey{q.Name, lifecycleNeverSeen}, n, now) && n > 1 {
			out = append(out, fleet.DemandConcern{
				Kind:  fleet.RunnersNeverSeen,
				Class: q.Class.Name,
				Sentence: fmt.Sprintf(
					"Credentials are made for the queue %q and more and more runners never come: %d so far.",
					q.Name,
					n,
				),
			})
		}
	}
	if facts := queues[unassigned]; facts != nil && !c.maps(unassigned) {
		total := 0
		for _, n := range facts.runners {
			total += n
		}
		if total > 0 {
			out = append(
				out,
				fleet.DemandConcern{
					Kind:     fleet.RunnersUnassigned,
					Sentence: fmt.Sprintf("In ReviewOS %s in no queue.", counted(total, "runner is", "runners are")),
				},
			)
		}
	}
	slices.SortStableFunc(out, func(a, b fleet.DemandConcern) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

func (c *Client) maps(name string) bool {
	return slices.ContainsFunc(c.Queues, func(q fleet.SchedulerQueue) bool { return q.Name == name })
}

func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
