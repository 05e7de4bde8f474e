package render

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

func TestInstanceShowAlignsItsColumns(t *testing.T) {
	var i view.Instance
	i.ID, i.Fleet, i.Provider, i.ProviderInstance = "01jabc", "fleet.demo", "local.here", "pid-7"
	i.State, i.Since, i.Reason, i.Seen = fleet.Healthy, noon.Add(
		-time.Minute,
	), reason.Plain(
		"All 2 admission checks passed.",
	), "running"
	i.Admission.State = "passed"
	i.Admission.Checks = []fleet.AdmissionCheck{
		{
			Name:     "os",
			Result:   "passed",
			Evidence: reason.Of(reason.PlatformMatches{Platform: "linux"}),
		},
		{Name: "job_isolation_of_processes", Result: "passed", Evidence: reason.Of(reason.JobsIsolated{Message: "cgroup"})},
	}
	i.Pin = &fleet.RunnerPin{Until: noon.Add(time.Hour), Attribution: fleet.Attribution{By: "ada"}}
	var out bytes.Buffer
	a := Page{Out: &out, Now: func() time.Time { return noon }}
	a.Instance(i)
	want := `01jabc   healthy for 1m0s
  All 2 admission checks passed
  fleet              fleet.demo
  provider           local.here
  provider instance  pid-7 (running)
  pinned             by ada until ` + Moment(noon.Add(time.Hour)) + `
  admission passed
    passed   os                          linux
    passed   job_isolation_of_processes  cgroup
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

var renamedFleet = []config.Change{
	{
		Action:  config.Create,
		Address: "fleet.new",
	},
	{Action: config.Drift, Address: "fleet.old"},
	{Action: config.Drift, Address: "provider.local.here"},
}

func TestPlanNamesAMovedBlockForARenamedFleet(t *testing.T) {
	var out bytes.Buffer
	a := Page{Out: &out}
	a.renames(renamedFleet)
	want := `
If fleet.new is a new name of fleet.old, add this block to keep its instances:
  moved {
    from = fleet.old
    to   = fleet.new
  }
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if a.renames(renamedFleet[:1]); out.Len() > 0 {
		t.Errorf("for a new fleet it says %s", out.String())
	}
}
