package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"

	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func window(name, cron string, duration time.Duration, zone string, warm int) fleet.ScalingSchedule {
	return fleet.ScalingSchedule{Name: name, Cron: cron, Duration: duration, TimeZone: zone, Warm: warm}
}

// warmLines is what a plan says of idle runners: the bounds, and the next change.
func warmLines(p FleetPlan) (lines []string) {
	for _, b := range p.Bounds {
		if b.Name == "warm" {
			lines = append(lines, fmt.Sprintf("%d: %s", b.After, b.Reason.Text()))
		}
	}
	if p.NextWarm != nil {
		lines = append(lines, p.NextWarm.Reason.Text())
	}
	return lines
}

func TestSchedulesSayHowManyIdleRunnersAreKept(t *testing.T) {
	office := window("office-hours", "0 8 * * 1-5", 10*time.Hour, "Europe/Berlin", 4)
	night := window("night", "0 20 * * *", 10*time.Hour, "UTC", 0)
	tests := []struct {
		name      string
		warm      int
		schedules []fleet.ScalingSchedule
		at        string
		want      []string
		next      string
	}{
		{
			"before it begins the scaling block's number counts",
			1,
			[]fleet.ScalingSchedule{office},
			"2026-11-29T12:00:00Z",
			[]string{
				"1: keep 1 idle runner",
				`keep 4 idle runners from 2026-11-30 08:00 Europe/Berlin on (schedule "office-hours")`,
			},
			"2026-11-30T07:00:00Z",
		},
		{
			"while it is open its own counts",
			1,
			[]fleet.ScalingSchedule{office},
			"2026-11-30T12:00:00Z",
			[]string{
				`4: keep 4 idle runners until 2026-11-30 18:00 Europe/Berlin (schedule "office-hours")`,
				"keep 1 idle runner from 2026-11-30 18:00 Europe/Berlin on",
			},
			"2026-11-30T17:00:00Z",
		},
		{
			"from the moment it ends no more",
			0,
			[]fleet.ScalingSchedule{office},
			"2026-12-04T17:00:00Z",
			[]string{
				`keep 4 idle runners from 2026-12-07 08:00 Europe/Berlin on (schedule "office-hours")`,
			},
			"2026-12-07T07:00:00Z",
		},
		{
			"one keeps fewer at night",
			2,
			[]fleet.ScalingSchedule{night},
			"2026-11-30T23:00:00Z",
			[]string{
				`0: keep no idle runners until 2026-12-01 06:00 UTC (schedule "night")`,
				"keep 2 idle runners from 2026-12-01 06:00 UTC on",
			},
			"2026-12-01T06:00:00Z",
		},
		{
			"of several the largest counts, until a larger one begins",
			0,
			[]fleet.ScalingSchedule{
				window("day", "0 6 * * *", 12*time.Hour, "UTC", 3),
				window("peak", "0 10 * * *", 2*time.Hour, "UTC", 6),
			},
			"2026-11-30T09:00:00Z",
			[]string{
				`3: keep 3 idle runners until 2026-11-30 10:00 UTC (schedule "day")`,
				`keep 6 idle runners from 2026-11-30 10:00 UTC on (schedule "peak")`,
			},
			"2026-11-30T10:00:00Z",
		},
		{
			"the largest counts to its end",
			0,
			[]fleet.ScalingSchedule{
				window("day", "0 6 * * *", 12*time.Hour, "UTC", 3),
				window("peak", "0 10 * * *", 2*time.Hour, "UTC", 6),
			},
			"2026-11-30T10:30:00Z",
			[]string{
				`6: keep 6 idle runners until 2026-11-30 12:00 UTC (schedule "peak")`,
				`keep 3 idle runners from 2026-11-30 12:00 UTC on (schedule "day")`,
			},
			"2026-11-30T12:00:00Z",
		},
		{
			"a smaller one takes nothing away from a larger one",
			0,
			[]fleet.ScalingSchedule{night, window("late", "0 21 * * *", time.Hour, "UTC", 5)},
			"2026-11-30T21:30:00Z",
			[]string{
				`5: keep 5 idle runners until 2026-11-30 22:00 UTC (schedule "late")`,
				`keep no idle runners from 2026-11-30 22:00 UTC on (schedule "night")`,
			},
			"2026-11-30T22:00:00Z",
		},
		{
			"one that is always open has no end",
			0,
			[]fleet.ScalingSchedule{window("always", "0 0 * * *", 36*time.Hour, "UTC", 2)},
			"2026-11-30T12:00:00Z",
			[]string{`2: keep 2 idle runners (schedule "always")`},
			"0001-01-01T00:00:00Z",
		},
		{
			"one that is far away is told with its date",
			0,
			[]fleet.ScalingSchedule{window("leap", "0 0 29 2 *", 24*time.Hour, "UTC", 2)},
			"2027-06-01T00:00:00Z",
			[]string{`keep 2 idle runners from 2028-02-29 00:00 UTC on (schedule "leap")`},
			"2028-02-29T00:00:00Z",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := burst(0, 10, test.warm)
			f.Scaling.Schedules = test.schedules
			at, _ := time.Parse(time.RFC3339, test.at)
			p := planInput(
				input{Now: at, Fleets: []fleet.ManagedFleet{f}, Demand: demand(), AgentVersion: agentVersion}).Fleets[0]
			if diff := cmp.Diff(test.want, warmLines(p)); diff != "" {
				t.Errorf("it says (-want +got):\n%s", diff)
			}
			if next, _ := time.Parse(time.RFC3339, test.next); !p.Next.Equal(next) {
				t.Errorf("its numbers change at %s, want %s", p.Next.UTC(), next)
			}
		})
	}
}

func TestASchedulePassesNoOtherBound(t *testing.T) {
	always := window("always", "0 0 * * *", 36*time.Hour, "UTC", 5)
	with := func(f fleet.ManagedFleet, change func(*fleet.ManagedFleet)) fleet.ManagedFleet {
		f.Scaling.Schedules = []fleet.ScalingSchedule{always}
		change(&f)
		return f
	}
	none := window("none", "0 0 * * *", 36*time.Hour, "UTC", 0)
	tests := []struct {
		name       string
		fleet      fleet.ManagedFleet
		unobserved string
		want       string
	}{
		{"max is a ceiling", with(burst(0, 3, 0), func(*fleet.ManagedFleet) {}), "", "create 3"},
		{
			"min is a floor",
			with(burst(2, 3, 3), func(f *fleet.ManagedFleet) { f.Scaling.Schedules[0] = none }),
			"",
			"create 2",
		},
		{
			"a fleet without a scheduler keeps them, too",
			with(sampleFleet(0, 8, 0), func(*fleet.ManagedFleet) {}),
			"",
			"create 5",
		},
		{
			"while its scheduler can't be seen what is there stays",
			with(burst(0, 8, 0), func(*fleet.ManagedFleet) {}),
			"timeout",
			"nothing",
		},
		{
			"a frozen fleet starts nothing",
			with(burst(0, 8, 0), func(f *fleet.ManagedFleet) { f.Operational = fleet.FleetFrozen }),
			"",
			"fleet_frozen",
		},
		{
			"a fleet that is being removed keeps none",
			with(burst(0, 8, 0), func(f *fleet.ManagedFleet) { f.Operational = fleet.FleetDraining }),
			"",
			"nothing",
		},
		{
			"joined hosts come from a person",
			with(burst(0, 8, 0), func(f *fleet.ManagedFleet) { f.Joined = true }),
			"",
			"nothing",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := demand()
			if test.unobserved != "" {
				d[ci] = snapshot.Demand{Unobserved: reason.Of(reason.SchedulerError{Message: test.unobserved})}
			}
			p := planInput(
				input{Now: now, Fleets: []fleet.ManagedFleet{test.fleet}, Demand: d, AgentVersion: agentVersion}).Fleets[0]
			if got := story(p); got != test.want {
				t.Errorf("plan is %q, want %q: %v", got, test.want, p.Bounds)
			}
		})
	}
}

// Between two times that a plan gives as Next, its number of idle runners stays.
func TestAScheduleChangesNothingBeforeTheTimeThatThePlanNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := burst(0, 20, rapid.IntRange(0, 5).Draw(t, "warm"))
		for n := range rapid.IntRange(1, 3).Draw(t, "schedules") {
			f.Scaling.Schedules = append(f.Scaling.Schedules, window(
				fmt.Sprintf("s%d", n),
				fmt.Sprintf(
					"%d %d * * %d",
					rapid.IntRange(0, 59).Draw(t, "minute"),
					rapid.IntRange(0, 23).Draw(t, "hour"),
					rapid.IntRange(0, 6).Draw(t, "weekday"),
				),
				time.Duration(rapid.IntRange(1, 2000).Draw(t, "duration"))*time.Minute,
				rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}).
					Draw(t, "zone"),
				rapid.IntRange(0, 5).Draw(t, "warm"),
			))
		}
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).
			Add(time.Duration(rapid.IntRange(0, 365*24*60).Draw(t, "at")) * time.Minute)
		p := planInput(input{Now: at, Fleets: []fleet.ManagedFleet{f}, Demand: demand()}).Fleets[0]
		if p.Next.IsZero() {
			t.Fatalf("a schedule of every week never changes: %+v", p)
		}
		between := at.Add(time.Duration(rapid.Int64Range(0, int64(p.Next.Sub(at))-1).Draw(t, "later")))
		if q := planInput(
			input{Now: between, Fleets: []fleet.ManagedFleet{f}, Demand: demand()}).Fleets[0]; q.Warm != p.Warm ||
			!q.Next.Equal(p.Next) {
			t.Fatalf("at %s it keeps %d until %s, and at %s %d until %s", at, p.Warm, p.Next, between, q.Warm, q.Next)
		}
		if p.NextWarm != nil {
			if q := planInput(
				input{Now: p.NextWarm.At, Fleets: []fleet.ManagedFleet{f}, Demand: demand()}).Fleets[0]; q.Warm != p.NextWarm.Warm {
				t.Fatalf("it says %q, and then keeps %d", p.NextWarm.Reason.Text(), q.Warm)
			}
		}
	})
}

func BenchmarkPlanWithSchedules(b *testing.B) {
	in := input{Now: now, AgentVersion: agentVersion}
	for n := range 200 {
		f := sampleFleet(1, 60, 0)
		f.ID, f.Address = fleet.RunnerFleetID(fmt.Sprintf("f%03d", n)), fleet.FleetAddress(fmt.Sprintf("fleet.f%03d", n))
		f.Scaling.Schedules = []fleet.ScalingSchedule{
			window(
				"office-hours",
				"0 8 * * 1-5",
				10*time.Hour,
				"Europe/Berlin",
				4,
			),
			window("night", "0 22 * * *", 8*time.Hour, "America/New_York", 0),
		}
		in.Fleets = append(in.Fleets, f)
	}
	b.ReportAllocs()
	for b.Loop() {
		planInput(in)
	}
}
