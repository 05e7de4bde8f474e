package replay

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

var oneScheduler = []fleet.Scheduler{{Address: "forgeyard.ci"}}

func mustRead(t *testing.T, text string, schedulers []fleet.Scheduler) *Trace {
	t.Helper()
	trace, err := ReadTrace("jobs.csv", strings.NewReader(text), schedulers)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func TestEveryColumnOfATraceIsRead(t *testing.T) {
	header, row := []string{}, []string{}
	for name, cell := range map[string]string{
		"arrival": "2026-10-05T09:30:00.25+02:00", "duration": "1h30m", "scheduler": "forgeyard.ci", "queue": "",
		"os": "linux", "arch": "arm64",
		"capabilities": "git; docker;git", "trust": "standard", "regions": "eu-1;eu-2", "toolchain": "go-1.26",
		"device": "phone", "isolation": "vm",
		"signing": "true", "confidential": "yes", "tenant": "acme", "project": "shop", "cpu": "0.5", "memory": "4GiB",
		"disk": "1024", "gpu": "1",
		"resource:Licence": "3", "priority": "-2", "preemptible": "1",
	} {
		header, row = append(header, name), append(row, cell)
	}
	if len(header) != len(columns) {
		t.Fatalf("%d columns are tried, and there are %d", len(header), len(columns))
	}
	trace := mustRead(t, strings.Join(header, ",")+"\n"+strings.Join(row, ",")+"\n", oneScheduler)
	want := Kind{Scheduler: "forgeyard.ci", QueuedDemand: fleet.QueuedDemand{
		Requirement: fleet.SchedulingRequirementSet{
			OS:           "linux",
			Arch:         "arm64",
			Capabilities: []string{"docker", "git"},
			Trust:        "standard",
			Tenant:       "acme",
			Project:      "shop",
			Regions: []string{
				"eu-1",
				"eu-2",
			},
			Toolchain:    []string{"go-1.26"},
			Device:       "phone",
			Isolation:    "vm",
			Signing:      true,
			Confidential: true,
		},
		Resources: fleet.ResourceCapacity{
			CPUMilli:    500,
			MemoryBytes: 4 << 30,
			DiskBytes:   1024,
			GPU:         1,
			Named:       map[string]int64{"Licence": 3},
		},
		Priority:           -2,
		PreemptibleAllowed: true,
	}}
	if diff := cmp.Diff([]Kind{want}, trace.Kinds); diff != "" {
		t.Error(diff)
	}
	job := trace.Jobs[0]
	if at := time.Unix(0, job.Arrival).
		UTC(); at.Format(time.RFC3339Nano) != "2026-10-05T07:30:00.25Z" ||
		job.Duration != 90*time.Minute {
		t.Errorf("got %s and %s", at, job.Duration)
	}
}

func TestATraceMayBeUnsortedAndInSeconds(t *testing.T) {
	trace := mustRead(t, "\ufeffduration,Arrival\n90.5,2000\n1m,1970-01-01T00:16:40Z\n\"0\", 2000\n", oneScheduler)
	var got []string
	for _, j := range trace.Jobs {
		got = append(got, fmt.Sprint(j.Arrival/1e9, " ", j.Duration))
	}
	want := []string{"1000 1m0s", "2000 1m30.5s", "2000 0s"} // in the file's order where two arrive at once
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEqualRequirementsAreOneKindHoweverTheyAreWritten(t *testing.T) {
	trace := mustRead(
		t,
		"arrival,duration,memory,capabilities,cpu\n1,1,1GiB,a;b,1\n1,1,1073741824,b;a,1.0\n1,1,1024MiB, a ; b "+
			";,1.000\n1,1,2GiB,a;b,1\n",
		oneScheduler,
	)
	if len(trace.Kinds) != 2 || trace.Jobs[2].Kind != 0 || trace.Jobs[3].Kind != 1 {
		t.Errorf("%d kinds: %+v", len(trace.Kinds), trace.Jobs)
	}
}

func TestAQueueOfATraceIsWhatItsBlockSays(t *testing.T) {
	class := fleet.CapacityClass{
		Name:      "big",
		Platform:  fleet.Platform{OS: "linux", Arch: "x86_64"},
		Trust:     "standard",
		Resources: fleet.ResourceCapacity{CPUMilli: 8000, Slots: 1},
	}
	schedulers := []fleet.Scheduler{
		{
			Address: "reviewos.main",
			Queues:  []fleet.SchedulerQueue{{Name: "linux-big", ID: 7, Class: class, Preemptible: true}},
		},
	}
	trace := mustRead(t, "arrival,duration,queue,priority\n1,1,linux-big,5\n1,1,other,\n", schedulers)
	mapped, unmapped := trace.Kinds[0], trace.Kinds[1]
	if mapped.Requirement.Class != "big" || mapped.Resources.CPUMilli != 8000 || !mapped.PreemptibleAllowed ||
		mapped.Priority != 5 {
		t.Errorf("%+v", mapped)
	}
	if unmapped.Requirement.Queue != "other" || unmapped.Requirement.Class != "" {
		t.Errorf("%+v", unmapped)
	}
}

func TestAWrongTraceIsToldByPlaceWithWhatWasExpected(t *testing.T) {
	two := []fleet.Scheduler{{Address: "forgeyard.a"}, {Address: "forgeyard.b"}}
	for name, one := range map[string]struct {
		text       string
		schedulers []fleet.Scheduler
		want       string
	}{
		"an empty file": {"", nil,
			"jobs.csv:1:1: the file is empty; its first line names the columns, at least: arrival,duration"},
		"only a header": {"arrival,duration\n", nil, "jobs.csv:2:1: no job below the header"},
		"an unknown column": {"arrival,duration,cpus\n", nil,
			`jobs.csv:1:18: unknown column "cpus"; valid columns: arrival, duration, scheduler, queue, os, arch, capabilities, trust, regions, toolchain, device, isolation, signing, confidential, tenant, project, cpu, memory, disk, gpu, resource:NAME, priority, preemptible`},
		"a column twice": {"arrival,duration,arrival\n", nil,
			`jobs.csv:1:18: the column "arrival" is there twice`},
		"a column is missing": {"arrival,cpu\n", nil,
			`jobs.csv:1:1: the column "duration" is missing; the first line names the columns, at least: arrival,duration`},
		"whose job isn't said": {"arrival,duration\n1,1\n", two,
			`jobs.csv:1:1: the fleets follow 2 schedulers, so a column "scheduler" must say whose each job is: forgeyard.a, forgeyard.b`},
		"an unknown scheduler": {"arrival,duration,scheduler\n1,1,forgeyard.c\n", two,
			`jobs.csv:2:5: scheduler is "forgeyard.c"; the fleets follow: forgeyard.a, forgeyard.b`},
		"a queue of one without": {"arrival,duration,queue\n1,1,q\n", nil,
			`jobs.csv:2:1: its queue is "q", and scheduler.forgeyard.ci has no queues`},
		"no time": {"arrival,duration\nyesterday,1\n", nil,
			`jobs.csv:2:1: arrival is "yesterday"; it is a time like 2026-10-05T09:30:00Z, or seconds since 1970, before the year 2200`},
		"a time far ahead": {"arrival,duration\n99999999999999,1\n", nil,
			`jobs.csv:2:1: arrival is "99999999999999"; it is a time like 2026-10-05T09:30:00Z, or seconds since 1970, before the year 2200`},
		"no duration": {"arrival,duration\n1,\n", nil,
			`jobs.csv:2:3: duration is ""; it is a duration like 10m, 1h30m or 90.5 (seconds), of at most 366 days`},
		"a negative duration": {"arrival,duration\n1,-5s\n", nil,
			`jobs.csv:2:3: duration is "-5s"; it is a duration like 10m, 1h30m or 90.5 (seconds), of at most 366 days`},
		"a size without a unit": {"arrival,duration,memory\n1,1,4GB\n", nil,
			`jobs.csv:2:5: memory is "4GB"; it is a size like 4GiB, or a whole number of bytes; units that work: KiB, MiB, GiB, TiB`},
		"too few cells": {"arrival,duration,cpu\n1,1\n", nil,
			"jobs.csv:2:1: 2 cells, and the header names 3 columns"},
		"a quote that isn't closed": {"arrival,duration,os\n1,1,\"linux\n", nil,
			`jobs.csv:2:12: a quote (") that isn't closed, or text after a closed one; a cell is either all in quotes or not at all`},
		"a quote within": {"arrival,duration,os\n1,1,li\"nux\n", nil,
			`jobs.csv:2:7: a quote (") in the middle of a cell; put the whole cell in quotes and double those in it`},
		"a word beyond all bounds": {"arrival,duration,os\n1,1," + strings.Repeat("x", 300) + "\n", nil,
			"jobs.csv:2:1: requirement: os has 300 bytes, and 256 is the most that is read"},
		"two mistakes of one row": {"arrival,duration,gpu\n1,x,-1\n", nil,
			"jobs.csv:2:3: duration is \"x\"; it is a duration like 10m, 1h30m or 90.5 (seconds), of at most 366 " +
				"days\njobs.csv:2:5: gpu is \"-1\"; it is a whole number from 0 on"},
	} {
		t.Run(name, func(t *testing.T) {
			schedulers := one.schedulers
			if schedulers == nil {
				schedulers = oneScheduler
			}
			_, err := ReadTrace("jobs.csv", strings.NewReader(one.text), schedulers)
			mistakes, is := errors.AsType[*Mistakes](err)
			if !is {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(one.want, mistakes.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExactlyAsManyMistakesAsAreToldAreNotCalledMore(t *testing.T) {
	for name, text := range map[string]string{
		"rows":                    "arrival,duration\n" + strings.Repeat("x,1\n", MaxMistakes),
		"rows, and one that fits": "arrival,duration\n" + strings.Repeat("x,1\n", MaxMistakes) + "1,1\n",
		"cells of fewer rows":     "arrival,duration\n" + strings.Repeat("x,x\n", MaxMistakes/2),
		"columns of the header":   "arrival,duration" + strings.Repeat(",x", MaxMistakes) + "\n",
	} {
		_, err := ReadTrace("jobs.csv", strings.NewReader(text), oneScheduler)
		mistakes, is := errors.AsType[*Mistakes](err)
		if !is || len(mistakes.Each) != MaxMistakes || mistakes.More || strings.Contains(err.Error(), "There are more") {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err = ReadTrace("jobs.csv", strings.NewReader(text+"x,1\n"), oneScheduler); name == "columns of the header" {
			continue // after a wrong header no row is read
		}
		if !strings.Contains(err.Error(), "There are more") {
			t.Errorf("%s, and another: got %v", name, err)
		}
	}
}

func TestOfManyMistakesTheFirstAreTold(t *testing.T) {
	_, err := ReadTrace("jobs.csv", strings.NewReader("arrival,duration\n"+strings.Repeat("x,1\n", 1000)), oneScheduler)
	mistakes, is := errors.AsType[*Mistakes](err)
	if !is || len(mistakes.Each) != MaxMistakes || !mistakes.More ||
		!strings.HasSuffix(err.Error(), "\nThere are more; the first 20 are shown.") {
		t.Errorf("got %v", err)
	}
}

func TestAHeaderWithManyWrongColumnsIsToldOnlyAsFarAsTheBound(t *testing.T) {
	_, err := ReadTrace("jobs.csv", strings.NewReader(strings.Repeat("x,", 100)+"y\n1,1\n"), oneScheduler)
	mistakes, is := errors.AsType[*Mistakes](err)
	if !is || len(mistakes.Each) != MaxMistakes || !mistakes.More {
		t.Errorf("got %v", err)
	}
}

// endless is a file that never ends.
type endless struct{ text string }

func (e endless) Read(p []byte) (int, error) { return copy(p, strings.Repeat(e.text, len(p))), nil }

func TestAQuoteThatNeverEndsDoesNotFillTheMemory(t *testing.T) {
	_, err := ReadTrace(
		"jobs.csv",
		io.MultiReader(strings.NewReader("arrival,duration\n1,1\n1,\""), endless{"x"}),
		oneScheduler,
	)
	if want := `jobs.csv:3:1: a row has more than 1048576 bytes; is a quote (") not closed?`; err == nil ||
		err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	_, err = ReadTrace("jobs.csv", endless{"x"}, oneScheduler)
	if want := `jobs.csv:1:1: a row has more than 1048576 bytes; is a quote (") not closed?`; err == nil ||
		err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestAFileThatFailsIsNotAShortTrace(t *testing.T) {
	gone := errors.New("the disk is gone")
	for _, before := range []string{"", "arrival,duration\n", "arrival,duration\n1,1\n1,"} {
		_, err := ReadTrace("jobs.csv", io.MultiReader(strings.NewReader(before), iotest.ErrReader(gone)), oneScheduler)
		if !errors.Is(err, gone) {
			t.Errorf("after %q: got %v", before, err)
		}
	}
}

// Whatever a file says, it is read or told what is wrong with it by place, and what
// was read can be replayed.
func FuzzReadTrace(f *testing.F) {
	f.Add("arrival,duration\n1,1\n2026-10-05T09:30:00Z,5m\n")
	f.Add("arrival,duration,cpu,memory,resource:x,capabilities,priority\n1,1,0.5,4GiB,3,a;b,-7\n")
	f.Add("arrival,duration,queue\n1,1,\"a\"\"b\"\n")
	f.Add("\ufeffarrival,duration\n,\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := ReadTrace("jobs.csv", strings.NewReader(text), oneScheduler)
		if err != nil {
			mistakes, is := errors.AsType[*Mistakes](err)
			if !is || len(mistakes.Each) == 0 || len(mistakes.Each) > MaxMistakes {
				t.Fatalf("got %v", err)
			}
			for _, m := range mistakes.Each {
				if m.Line < 1 || m.Column < 1 || m.Sentence == "" {
					t.Errorf("%+v has no place", m)
				}
			}
			return
		}
		if len(trace.Jobs) == 0 {
			t.Fatal("there is neither a job nor a mistake")
		}
		before := int64(0)
		for _, j := range trace.Jobs {
			if j.Arrival < before || j.Duration < 0 || int(j.Kind) >= len(trace.Kinds) || j.Kind < 0 {
				t.Fatalf("%+v", j)
			}
			before = j.Arrival
		}
	})
}
