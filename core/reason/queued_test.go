package reason

import "testing"

func TestJobsWithoutAFleetNameTheCommandToSeeWhy(t *testing.T) {
	near := NoEligibleFleet{Jobs: 1, Nearest: "fleet.demo", Because: Plain("it has no gpu")}
	if got := Of(near).Commands(); len(got) != 1 || got[0].Line != "forgeyard-fleet explain fleet.demo" {
		t.Errorf("the commands are %+v", got)
	}
	if got := Of(NoEligibleFleet{Jobs: 1}).Commands(); len(got) > 0 {
		t.Errorf("without a near fleet they are %+v", got)
	}
}
