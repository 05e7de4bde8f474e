package orders

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestASecondQuarantineKeepsTheEarlierReason(t *testing.T) {
	long := strings.Repeat("x", longestReason)
	for _, test := range []struct{ name, old, given, want string }{
		{"none before", "", "disk full", "disk full"},
		{"another reason", "disk full", "slow network", "disk full; slow network"},
		{"no reason", "disk full", "", "disk full"},
		{"the same reason", "disk full", "disk full", "disk full"},
		{"one of several", "disk full; slow network", "slow network", "disk full; slow network"},
		{"too long for both", "disk full", long, "disk full"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := &validation{decided: fleet.Attribution{By: "ada", Reason: test.given}}
			v.state.Overrides.Quarantines = []fleet.Quarantine{
				{Instance: "i2", Attribution: fleet.Attribution{Reason: "of another"}},
				{Instance: "i1", Attribution: fleet.Attribution{Reason: test.old}},
			}
			got := v.quarantine(fleet.Quarantine{Instance: "i1"})
			if got.Reason != test.want || got.By != "ada" {
				t.Errorf("got %+v, want the reason %q", got, test.want)
			}
		})
	}
}
