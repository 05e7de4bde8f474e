package planner

import (
	"strings"
	"testing"

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
		got := eligible(&fleet.InstallationPolicy{}, &fleet.UnmetDemand{Requirement: one.requirement}, &f).reason
		if (got == "") != (one.want == "") || !strings.Contains(got, one.want) {
			t.Errorf("%s: %q, want %q", name, got, one.want)
		}
	}
}
