package policies

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/replay"
)

// Setup is one policy with the fleet that it runs.
type Setup struct {
	Name   string
	Policy replay.Policy
	Fleet  fleet.ManagedFleet
}

// Hosts are the two kinds of hosts of the comparison, by the jobs that one takes
// side by side.
var Hosts = []struct {
	Slots int64
	Title string
}{
	{1, "One job on a host at a time"},
	{4, "Up to four jobs on a host"},
}

// boot is how long a host takes in all of it.
const boot = 90 * time.Second

const scheduler fleet.SchedulerAddress = "forgeyard.ci"

// office is a fleet of hosts of 4 processors and 16 GiB, as a file that says
// nothing of how it scales would have it.
func office(slots int64) fleet.ManagedFleet {
	f := fleet.RunnerFleet{
		Address: "fleet.office", Provider: "cloud.here", Scheduler: scheduler,
		Class: fleet.CapacityClass{
			Name: "standard", Platform: fleet.Platform{OS: "linux", Arch: "x86_64"}, Trust: "standard",
			Resources: fleet.ResourceCapacity{CPUMilli: 4000, MemoryBytes: 16 << 30, Slots: slots},
		},
		Scaling:  fleet.ScalingPolicy{Max: 200, ScaleToZero: true},
		Timeouts: fleet.DefaultTimeouts(),
		Cost:     fleet.CostPolicy{Hourly: fleet.Money{Micros: 192_000, Currency: "USD"}, Minimum: time.Minute},
	}.WithDefaults()
	return fleet.ManagedFleet{ID: fleet.RunnerFleetID(f.Address), RunnerFleet: f, Operational: fleet.FleetActive}
}

// Rivals are the other policies.
func Rivals(slots int64) []Setup {
	oneJob := office(slots)
	oneJob.Runner.MaxJobs = 1
	return []Setup{
		{"one machine per job", OneMachinePerJob, oneJob},
		{"keep idle for 5 min", KeepIdle(5 * time.Minute), office(slots)},
		{"keep idle for 30 min", KeepIdle(30 * time.Minute), office(slots)},
		{"target 70%, cool-down 5 min", TargetUtilisation(0.7, 5*time.Minute), office(slots)},
		{"target 50%, cool-down 5 min", TargetUtilisation(0.5, 5*time.Minute), office(slots)},
	}
}

// Ours are the settings of the planner that are compared, for hosts that take so
// many jobs side by side: the defaults, and hosts kept warm when there is work,
// which is what a file for an office would say, from little money to little waiting.
func Ours(slots int64) []Setup {
	if slots == 1 {
		return []Setup{
			Defaults(slots),
			Warm(slots, 6, 2, time.Minute),
			Warm(slots, 14, 4, time.Minute),
			Warm(slots, 18, 8, time.Minute),
		}
	}
	return []Setup{
		Defaults(slots),
		Warm(slots, 4, 1, time.Minute),
		Warm(slots, 10, 3, time.Minute),
		Warm(slots, 12, 5, time.Minute),
	}
}

// Defaults is the planner on a file that says nothing of how it scales.
func Defaults(slots int64) Setup { return Setup{"planner, defaults", planner.Plan, office(slots)} }

// Warm is the planner with hosts kept warm on weekdays, so many in office hours and
// some in the hours around them, and those without a job let go after a short grace.
func Warm(slots int64, warm, around int, grace time.Duration) Setup {
	f := office(slots)
	f.Scaling.ScaleDown = fleet.ScaleDownPolicy{IdleGrace: grace, Cooldown: time.Minute}
	f.Scaling.Schedules = []fleet.ScalingSchedule{
		{Name: "around", Cron: "0 6 * * 1-5", Duration: 17 * time.Hour, TimeZone: "UTC", Warm: around},
		{Name: "office-hours", Cron: "30 7 * * 1-5", Duration: 11 * time.Hour, TimeZone: "UTC", Warm: warm},
	}
	return Setup{fmt.Sprintf("planner, %d and %d warm, grace %s", warm, around, short(grace)), planner.Plan, f}
}

// short is a duration for a table.
func short(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%g s", d.Seconds())
	}
	return fmt.Sprintf("%g min", d.Minutes())
}
