package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestAQueueIsServedByFleetsOfTheClassThatItIsMappedTo(t *testing.T) {
	f := fleet.ManagedFleet{RunnerFleet: fleet.RunnerFleet{Class: fleet.CapacityClass{Name: "large"}}}
	for name, one := range map[string]struct {
		requirement fleet.SchedulingRequirementSet
		want        string
	}{
		"its class":     {fleet.SchedulingRequirementSet{Queue: "q", Class: "large"}, ""},
		"another class": {fleet.SchedulingRequirementSet{Queue: "q", Class: "small"}, `mapped to the class "small"`},
		"not mapped":    {fleet.SchedulingRequirementSet{Queue: "q"}, `no queue block of its scheduler maps the queue "q"`},
		"no queue":      {fleet.SchedulingRequirementSet{}, ""},
	} {
		got := eligible(&fleet.InstallationPolicy{}, &fleet.QueuedDemand{Requirement: one.requirement}, &f).reason
		if (got == "") != (one.want == "") || !strings.Contains(got, one.want) {
			t.Errorf("%s: %q, want %q", name, got, one.want)
		}
	}
}

// Which of two kinds of running jobs takes the hosts first is theirs, and not how many
// of them wait.
func TestAnotherWaitingJobMovesNoneThatRuns(t *testing.T) {
	large := fleet.QueuedDemand{Resources: fleet.ResourceCapacity{CPUMilli: 4000}, Unlisted: &fleet.UnlistedUsage{Jobs: 1, Usable: 1}}
	small := fleet.QueuedDemand{Resources: fleet.ResourceCapacity{CPUMilli: 500}, Unlisted: &fleet.UnlistedUsage{Jobs: 1, Usable: 1}}
	first := unlisted([]fleet.QueuedDemand{large, small})[0].Resources
	for n := range 20 {
		small.Count, small.Admissible, small.OldestWait = n, n, time.Duration(n)*time.Second
		small.Unlisted.Jobs = n
		if got := unlisted([]fleet.QueuedDemand{large, small})[0].Resources; got.CPUMilli != first.CPUMilli {
			t.Fatalf("with %d that wait, jobs of %d mCPU come first, and those of %d did with none", n, got.CPUMilli, first.CPUMilli)
		}
	}
}
