package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Options say what is run.
type Options struct {
	Seed uint64
	// Only are the numbers of the seed's faults that strike; nil: all of them.
	Only []int
	// Double stands between the loop and its world, to show that errors are seen.
	Double Double
}

// Double replaces parts of what the loop works with; the zero value nothing.
type Double struct {
	// Store stands before the store; it is given the manager's clock.
	Store func(loop.Store, func() time.Time) loop.Store
	// Event may change what the loop hears; it is given what agents said last.
	Event func(loop.Event, map[fleet.CapacityInstanceID]fleet.Runner) loop.Event
	// Effects are those of a step that are carried out.
	Effects func(loop.Result) []loop.Effect
	// Plan is the planner.
	Plan func(snapshot.Snapshot) planner.Output
}

// Failure is an invariant that didn't hold.
type Failure struct {
	// Invariant is its name.
	Invariant string
	Detail    string
	At        time.Duration
}

// Report is what came of a run.
type Report struct {
	Seed    uint64
	Failure *Failure
	// Log is everything that happened; one seed makes the same bytes.
	Log []byte
	// Faults are those that struck.
	Faults  []Fault
	Steps   int
	Jobs    int
	Created int
	// Lasted is how long the run was in virtual time.
	Lasted time.Duration
}

// Run runs one seed to its end, or to the first invariant that doesn't hold.
func Run(o Options) Report {
	w := newWorld(o)
	w.run()
	return Report{
		Seed: o.Seed, Failure: w.failure, Log: w.log, Faults: w.faults, Steps: w.manager.steps,
		Jobs: len(w.ci.jobs), Created: len(w.store.instances), Lasted: w.at,
	}
}

// Shrink leaves out faults while the same invariant fails, whole kinds first. The
// report is of the smallest run found.
func Shrink(o Options) Report {
	last := Run(o)
	if last.Failure == nil {
		return last
	}
	try := func(keep []int) bool {
		o.Only = keep
		r := Run(o)
		if r.Failure == nil || r.Failure.Invariant != last.Failure.Invariant {
			return false
		}
		last = r
		return true
	}
	numbers := func(without func(Fault) bool) []int {
		keep := []int{}
		for _, f := range last.Faults {
			if !without(f) {
				keep = append(keep, f.Number)
			}
		}
		return keep
	}
	for _, kind := range slices.Concat(kinds, noticeKinds, imageKinds) {
		if slices.ContainsFunc(last.Faults, func(f Fault) bool { return f.Kind == kind }) {
			try(numbers(func(f Fault) bool { return f.Kind == kind }))
		}
	}
	for _, dropped := range slices.Clone(last.Faults) {
		try(numbers(func(f Fault) bool { return f.Number == dropped.Number }))
	}
	return last
}

// Replay is the command that shows the run of a report again.
func (r Report) Replay() string {
	command := fmt.Sprintf("go run ./core/testonly/simulation/replay --seed %d", r.Seed)
	var only []string
	for _, f := range r.Faults {
		only = append(only, fmt.Sprint(f.Number))
	}
	if len(r.Faults) < len(faultsOf(r.Seed)) {
		command += " --only " + strings.Join(only, ",")
		if len(only) == 0 {
			command += "none"
		}
	}
	return command
}

// String tells in a few lines what failed and how to see it again.
func (r Report) String() string {
	if r.Failure == nil {
		return fmt.Sprintf(
			"seed %d: every invariant held for %s, in %d steps of the loop, with %d jobs and %d instances",
			r.Seed,
			r.Lasted.Truncate(time.Second),
			r.Steps,
			r.Jobs,
			r.Created,
		)
	}
	text := fmt.Sprintf("seed %d: %s, after %s: %s\n", r.Seed, r.Failure.Invariant, r.Failure.At, r.Failure.Detail)
	for _, f := range r.Faults {
		text += "  fault " + f.String() + "\n"
	}
	return text + "  " + r.Replay()
}
