package policies

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/replay"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// The tables of eight weeks take minutes, so that plain `go test` compares a day
// with testdata/one-day.md. `make policies` compares the page, and after a change
// of the planner `make policies UPDATE=-update` writes both again.
var (
	update     = flag.Bool("update", false, "write the tables again")
	eightWeeks = flag.Bool("eight-weeks", false, "replay all eight weeks and compare docs/policies.md")
)

const (
	weeks = 8
	seed  = 1
)

// digest pins the generated jobs: with others the tables would say something else.
const digest = "sha256:3682069abfb5852365def4e6f54f1d3d2213b434365080c844f46a04b16066d9"

var page = filepath.Join("..", "..", "..", "docs", "policies.md")

func TestTheGeneratedJobsAreTheOnesOfTheTables(t *testing.T) {
	trace := Office(weeks, seed, scheduler)
	if got := fleet.Digest(trace); got != digest {
		t.Errorf("the jobs have the digest %s; if that is meant, write the tables again", got)
	}
	if len(trace.Jobs) < 100_000 {
		t.Errorf("%d jobs", len(trace.Jobs))
	}
	first, last := time.Unix(0, trace.Jobs[0].Arrival).UTC(), time.Unix(0, trace.Jobs[len(trace.Jobs)-1].Arrival).UTC()
	if first.Before(Monday) || !last.Before(Monday.AddDate(0, 0, 7*weeks+1)) {
		t.Errorf("from %s to %s", first, last)
	}
}

func tables(t *testing.T, trace *replay.Trace, ours func(slots int64) []Setup) string {
	t.Helper()
	var text strings.Builder
	for _, h := range Hosts {
		rivals := Rivals(h.Slots)
		outcomes, err := Try(context.Background(), append(rivals, ours(h.Slots)...), trace)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(Tables(h.Title, outcomes[:len(rivals)], outcomes[len(rivals):]))
	}
	return text.String()
}

func compare(t *testing.T, path, begin, end string, want string) {
	t.Helper()
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(have), begin)
	_, tail, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		t.Fatalf("%s lacks %q or %q", path, begin, end)
	}
	whole := head + begin + want + end + tail
	if *update {
		if err := os.WriteFile(path, []byte(whole), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(have), whole); diff != "" {
		t.Errorf("%s isn't what the replays say; write it again with: make policies UPDATE=-update\n%s", path, diff)
	}
}

func TestTheTablesOfADayAreWhatTheReplaysSay(t *testing.T) {
	trace := Office(1, seed, scheduler)
	trace.Jobs = trace.Jobs[:jobsBefore(trace, Monday.AddDate(0, 0, 1))]
	text := tables(
		t,
		trace,
		func(slots int64) []Setup { return []Setup{Defaults(slots), Warm(slots, 10, 3, time.Minute)} },
	)
	compare(t, filepath.Join("testdata", "one-day.md"), "<!-- tables:begin -->\n", "<!-- tables:end -->\n", text)
}

func jobsBefore(trace *replay.Trace, end time.Time) int {
	for n, j := range trace.Jobs {
		if j.Arrival >= end.UnixNano() {
			return n
		}
	}
	return len(trace.Jobs)
}

func TestTheTablesOfEightWeeksAreWhatTheReplaysSay(t *testing.T) {
	if !*eightWeeks {
		t.Skip("it takes minutes: make policies")
	}
	debug.SetGCPercent(800) // it makes a lot of garbage, and little is ever held
	trace := Office(weeks, seed, scheduler)
	text := fmt.Sprintf("%d jobs in %d weeks.\n\n", len(trace.Jobs), weeks) + tables(t, trace, Ours)
	compare(t, page, "<!-- tables:begin -->\n", "<!-- tables:end -->\n", text)
}

// BenchmarkEightWeeks is how long simulate takes for two months of an office.
func BenchmarkEightWeeks(b *testing.B) {
	trace := Office(weeks, seed, scheduler)
	for b.Loop() {
		outcomes, err := Try(context.Background(), []Setup{Defaults(4)}, trace)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(outcomes[0].Plans), "plans/op")
		b.ReportMetric(float64(outcomes[0].Jobs), "jobs/op")
	}
}

var monday = Monday.Add(9 * time.Hour)

// seen is a fleet of the office with some of its hosts, for a policy to decide.
func seen(waiting int, hosts ...host) snapshot.Snapshot {
	f := office(4)
	in := snapshot.Snapshot{Now: monday, State: snapshot.State{Fleets: []fleet.ManagedFleet{f}}}
	in.Scaled, in.Demand = map[fleet.RunnerFleetID]time.Time{}, map[fleet.SchedulerAddress]snapshot.Demand{}
	in.Usage = map[fleet.CapacityInstanceID]snapshot.Usage{}
	if waiting > 0 {
		in.Demand[scheduler] = snapshot.Demand{Snapshot: fleet.CapacityDemandSnapshot{Queued: []fleet.QueuedDemand{
			{Resources: fleet.ResourceCapacity{CPUMilli: 2000}, Count: waiting, Admissible: waiting},
		}}}
	}
	for n, h := range hosts {
		h.ID, h.Fleet, h.Scheduling.Scheduler = fleet.CapacityInstanceID(fmt.Sprint("host-", n)), f.ID, scheduler
		in.Instances, in.Usage[h.ID] = append(in.Instances, h.CapacityInstance), h.Usage
	}
	return in
}

// host is an instance with what its scheduler shows of it.
type host struct {
	fleet.CapacityInstance
	snapshot.Usage
}

func idle(since time.Duration) host {
	return host{fleet.CapacityInstance{State: fleet.Healthy}, snapshot.Usage{IdleSince: monday.Add(-since)}}
}

var (
	working = host{fleet.CapacityInstance{State: fleet.Healthy}, snapshot.Usage{Leases: 1}}
	coming  = host{CapacityInstance: fleet.CapacityInstance{State: fleet.Provisioning}}
)

func TestEachPolicyDoesWhatItsKindDoes(t *testing.T) {
	scaled := func(in snapshot.Snapshot, before time.Duration) snapshot.Snapshot {
		in.Scaled[in.Fleets[0].ID] = monday.Add(-before)
		return in
	}
	for _, test := range []struct {
		name   string
		policy replay.Policy
		in     snapshot.Snapshot
		create int
		drains []fleet.CapacityInstanceID
		next   time.Duration
	}{
		{"a machine for every job that waits, and none twice", OneMachinePerJob, seen(5, coming, working), 4, nil, 0},
		{"a machine per job never lets one go, since it goes by itself", OneMachinePerJob, seen(0, idle(time.Hour)), 0, nil,
			0},
		{"keep idle launches what waits", KeepIdle(5 * time.Minute), seen(5, coming, working), 4, nil, 0},
		{"keep idle lets go what was idle for its time", KeepIdle(5 * time.Minute),
			seen(0, idle(5*time.Minute), idle(time.Minute), working), 0, []fleet.CapacityInstanceID{"host-0"}, 4 * time.Minute},
		{"a target of 50% has two hosts for each that is needed", TargetUtilisation(0.5, 5*time.Minute), seen(4, working), 5,
			nil, 0},
		{"above the target the newest idle hosts go", TargetUtilisation(0.5, 5*time.Minute),
			scaled(seen(0, idle(time.Minute), idle(time.Minute), working, idle(time.Second)), time.Hour), 0,
			[]fleet.CapacityInstanceID{"host-3", "host-1"}, 0},
		{"but not before the cool-down is over", TargetUtilisation(0.5, 5*time.Minute),
			scaled(seen(0, idle(time.Minute), idle(time.Minute), working), time.Minute), 0, nil, 4 * time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := test.policy(test.in).Fleets[0]
			var drains []fleet.CapacityInstanceID
			for _, a := range p.Actions {
				drains = append(drains, a.Instance)
			}
			var next time.Duration
			if !p.Next.IsZero() {
				next = p.Next.Sub(monday)
			}
			if diff := cmp.Diff(test.drains, drains); p.Create != test.create || next != test.next || diff != "" {
				t.Errorf("it makes %d, want %d; it looks again in %s, want %s\n%s", p.Create, test.create, next, test.next, diff)
			}
		})
	}
}

func TestNoPolicyGoesBeyondMax(t *testing.T) {
	in := seen(500, working, coming)
	in.Fleets[0].Scaling.Max = 10
	for _, r := range Rivals(4) {
		if p := r.Policy(in).Fleets[0]; p.Create != 8 {
			t.Errorf("%s makes %d hosts where 2 of 10 are there", r.Name, p.Create)
		}
	}
}
