package render

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

var ubuntu = view.ImageReport{
	Name:      "ubuntu-24",
	Digest:    "sha256:" + strings.Repeat("2c", 32),
	Bootstrap: "cloud-init",
	State:     view.ImageQuarantined,
	Instances: 1,
	Others:    6,
	Refs:      []view.ImageRef{{Provider: "aws.here", Ref: "ami-2", ID: "sha256:0123456789abcdef"}},
	Fleets: []view.ImageFleet{
		{Fleet: "fleet.linux", State: view.ImageCanary, Instances: 1, Others: 6, Reason: reason.Plain("1 canary soaks")},
	},
	Quarantine: &fleet.Quarantine{
		Image:       "sha256:x",
		Attribution: fleet.Attribution{By: "ada", At: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)},
	},
}

func TestImageShowHasItsStateInEachFleet(t *testing.T) {
	var out bytes.Buffer
	a := Page{Out: &out, Now: time.Now}
	a.Image(ubuntu)
	a.Images([]view.ImageReport{ubuntu})
	want := `image.ubuntu-24   quarantined
  digest sha256:` + strings.Repeat("2c", 32) + `, bootstrap cloud-init
  at aws.here: ami-2, id sha256:0123456789ab
  ! Quarantined by ada on 2026-11-29 12:00:00 UTC. Clear the quarantine with:
      forgeyard-fleet quarantine sha256:x --clear
  fleet.linux: canary; 1 instance uses it, 6 don't
      1 canary soaks
IMAGE      DIGEST               STATE        INSTANCES  OTHERS  FLEETS       BOOTSTRAP   KNOWN AS
ubuntu-24  sha256:2c2c2c2c2c2c  quarantined  1          6       fleet.linux  cloud-init  aws.here:ami-2
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestTheStatusOfAFleetSaysHowFarItsRolloutIsOnce(t *testing.T) {
	for stage, want := range map[planner.RolloutStage]string{planner.RolloutCanary: "  > 1 canary soaks\n",
		planner.RolloutHalted: "  ! 1 canary soaks\n"} {
		var out bytes.Buffer
		a := Page{Out: &out, Now: time.Now}
		f := view.Fleet{
			Address: "fleet.demo",
			Rollout: &planner.RolloutPlan{Stage: stage, Reason: reason.Plain("1 canary soaks")},
		}
		if stage == planner.RolloutHalted {
			f.Reasons = []reason.Reason{reason.Plain("1 canary soaks")} // it is what is amiss
		}
		if a.fleet(
			f,
			"process 7",
		); strings.Count(out.String(), "canary") != 1 ||
			!strings.Contains(out.String(), want) {
			t.Errorf("%s: it shows\n%s", stage, out.String())
		}
	}
}
