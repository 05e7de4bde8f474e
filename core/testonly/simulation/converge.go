package simulation

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// converges is the invariant of the end: "reconciliation is the correctness
// mechanism;".
const converges = "everything converges once the faults stop"

// checkPeace ends the run once all is as it should be.
func (w *world) checkPeace(res loop.Result) {
	if w.calm && res.Settled && w.unsettled() == "" {
		w.settled = true
	}
}

// checkEnd is the end of the time in which everything must settle.
func (w *world) checkEnd() {
	why := w.unsettled()
	if why == "" {
		why = "the loop doesn't call it settled"
	}
	w.fail(converges, "after %s of peace: %s. %s", peace, why, w.describe())
}

// unsettled says what isn't yet as it should be; "": all is. Every instance is
// Healthy and wanted, or concluded; the cloud has what the books have and nothing
// else; every job is done; and the scheduler lists no unknown runner.
func (w *world) unsettled() string {
	for _, j := range w.ci.jobs {
		if !j.done && !w.rules.bars(j.tenant) {
			return fmt.Sprintf("job %d isn't done", j.number)
		}
	}
	count := map[fleet.RunnerFleetID]int{}
	for _, id := range w.store.open {
		i := w.store.instances[id]
		if i.State != fleet.Healthy && !i.Unjoined() {
			return fmt.Sprintf("%s is %s", i.ID, i.State)
		}
		count[i.Fleet]++
	}
	for _, f := range w.store.fleets {
		if f.Joined {
			continue // a joined host stays, and no other is made
		}
		if count[f.ID] != f.Scaling.Min {
			return fmt.Sprintf("%s has %d instances and wants %d", f.Address, count[f.ID], f.Scaling.Min)
		}
		if left := w.cloud(f.Provider).leftBehind(); left != "" {
			return fmt.Sprintf("%s is left behind", left)
		}
		machines := w.machinesOf(f)
		if machines != f.Scaling.Min {
			return fmt.Sprintf("%s has %d machines and wants %d: something is left behind", f.Address, machines, f.Scaling.Min)
		}
	}
	if w.ci.once != nil {
		return w.ci.once.unsettled()
	}
	for _, r := range w.ci.runners {
		if i := w.store.instances[r.name]; i.State != fleet.Healthy || r.cordoned {
			return fmt.Sprintf("the scheduler knows %s, which is %s (cordoned %t)", r.name, i.State, r.cordoned)
		}
	}
	runners := 0
	for _, f := range w.store.fleets {
		if f.Scheduler != "" {
			runners += count[f.ID]
		}
	}
	if len(w.ci.runners) != runners {
		return fmt.Sprintf("the scheduler knows %d runners of %d", len(w.ci.runners), runners)
	}
	return ""
}

// checkEffort: no thrash. The loop makes a bounded number of instances for the
// jobs that there are or are prepared for and the faults that strike.
func (w *world) checkEffort() {
	limit := 3*(len(w.ci.jobs)+w.ahead) + 4*len(w.faults) + 10
	for _, f := range w.faults {
		if f.Kind == ZoneShortage {
			limit += len(offersOf()) // each is tried once more while it lasts, and now and then again
		}
	}
	if n := len(w.store.instances); n > limit {
		w.fail(
			"scale-up and scale-down don't thrash",
			"%d instances were made for %d jobs and %d faults",
			n,
			len(w.ci.jobs),
			len(w.faults),
		)
	}
}

// describe is what a person needs to see why it isn't settled.
func (w *world) describe() string {
	text := ""
	for _, id := range w.store.open {
		i := w.store.instances[id]
		text += fmt.Sprintf(
			"[%s %s since %s (%s) conflict %q provision %s",
			i.ID,
			i.State,
			i.Since.Sub(beginning),
			i.Reason,
			i.Conflict,
			w.store.operations[i.Key].State,
		)
		for _, op := range w.store.operations {
			if op.Instance == id && op.Kind == fleet.TerminateOperation {
				text += fmt.Sprintf(" terminate %s %s %q", op.ID, op.State, op.Reason)
			}
		}
		text += fmt.Sprintf(" scheduling %+v] ", i.Scheduling)
	}
	return text
}

// lastLook is the last complete inspection that the loop works with. One from
// before the clock was set is known by another time than it began at.
func (m *manager) lastLook(c *cloud) look {
	if l, known := c.looks[m.observed[c.address]]; known {
		return l
	}
	return c.delivered
}
