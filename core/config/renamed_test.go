package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/config"
)

func TestRenamedFleetIsToldOfMoved(t *testing.T) {
	renamed := strings.Replace(diffFleet, `fleet "x"`, `fleet "y"`, 1)
	stored := mustLoad(t, diffFleet, config.Variables{}).Definition
	for name, one := range map[string]struct {
		text string
		want string
	}{
		"another name": {renamed,
			"Was fleet.x renamed to fleet.y? Under its new name it is a new fleet, and fleet.x keeps its instances. " +
				"To keep them under the new name, add:\n  moved {\n    from = fleet.x\n    to   = fleet.y\n  }"},
		"another name, and moved":         {renamed + moves("x y"), ""},
		"another name, and removed":       {renamed + "removed {\n  from = fleet.x\n}\n", ""},
		"one more of the same":            {diffFleet + renamed[strings.Index(renamed, `fleet "y"`):], ""},
		"another name and other kind":     {strings.Replace(renamed, `types   = ["m1"]`, `types   = ["m2"]`, 1), ""},
		"nothing else than what is there": {diffFleet, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, warning := range mustLoad(t, one.text, config.Variables{}).MaybeRenamed(stored) {
				got += warning.Summary + " " + warning.Detail
			}
			if difference := cmp.Diff(one.want, got); difference != "" {
				t.Errorf("(-want +got):\n%s", difference)
			}
		})
	}
}
