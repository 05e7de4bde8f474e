package planner

import (
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

func TestAQueueIsServedByFleetsOfTheClassThatItIsMappedTo(t *testing.T) {
	f := fleet.ManagedFleet{RunnerFleet: fleet.RunnerFleet{Class: fleet.CapacityClass{Name: "large"}}}
	for name, one := range map[string]struct {
		requirement fleet.SchedulingRequirementSet
		want        reason.Detail
	}{
		"its class": {fleet.SchedulingRequirementSet{Queue: "q", Class: "large"}, nil},
		"another class": {fleet.SchedulingRequirementSet{Queue: "q", Class: "small"},
			reason.QueueClassDiffers{Queue: "q", Required: "small", Has: "large"}},
		"not mapped": {fleet.SchedulingRequirementSet{Queue: "q"}, reason.QueueUnmapped{Queue: "q"}},
		"no queue":   {fleet.SchedulingRequirementSet{}, nil},
	} {
		got := eligible(&fleet.InstallationPolicy{}, &fleet.QueuedDemand{Requirement: one.requirement}, &f).reason
		if got != one.want {
			t.Errorf("%s: %#v, want %#v", name, got, one.want)
		}
	}
}

// Which of two kinds of running jobs takes the hosts first is theirs, and not how many
// of them wait.
func TestAnotherWaitingJobMovesNoneThatRuns(t *testing.T) {
	large := fleet.QueuedDemand{
		Resources: fleet.ResourceCapacity{CPUMilli: 4000},
		Unlisted:  &fleet.UnlistedUsage{Jobs: 1, Usable: 1},
	}
	small := fleet.QueuedDemand{
		Resources: fleet.ResourceCapacity{CPUMilli: 500},
		Unlisted:  &fleet.UnlistedUsage{Jobs: 1, Usable: 1},
	}
	first := unlisted([]fleet.QueuedDemand{large, small})[0].Resources
	for n := range 20 {
		small.Count, small.Admissible, small.OldestWait = n, n, time.Duration(n)*time.Second
		small.Unlisted.Jobs = n
		if got := unlisted([]fleet.QueuedDemand{large, small})[0].Resources; got.CPUMilli != first.CPUMilli {
			t.Fatalf(
				"with %d that wait, jobs of %d mCPU come first, and those of %d did with none",
				n,
				got.CPUMilli,
				first.CPUMilli,
			)
		}
	}
}
