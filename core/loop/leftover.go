package loop

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// leftover is how it goes with removing one thing that an instance left behind. It may
// be one that can't be removed, since somebody attached it to a machine of his own: then
// it is tried ever more rarely, and keeps nothing else of the instance from going.
type leftover struct {
	tries int
	// again is when it may be tried next, state how the last try ended, and why the
	// reason, where it was given one.
	again time.Time
	state fleet.OperationState
	why   string
}

// tried notes that a call to remove a thing went out.
func (m *rowMemory) tried(id fleet.ProviderInstanceRef) {
	if m.left == nil {
		m.left = map[fleet.ProviderInstanceRef]*leftover{}
	}
	if m.left[id] == nil {
		m.left[id] = &leftover{}
	}
	m.left[id].tries++
}

// notRemoved takes in that what the last call named may still be there; false: that
// was the instance itself, or this process made no call.
func (m *rowMemory) notRemoved(op *fleet.Operation, now time.Time) bool {
	one := m.left[m.asked]
	if m.asked == "" || one == nil {
		return false
	}
	one.again, one.state, one.why = now.Add(terminateAgain(one.tries)), op.State, cmp.Or(op.Message, "the provider gave no reason")
	return true
}

// nextLeft is what is to be removed next of what an ended instance left, which isn't
// nothing: of that which is due what was tried least. Where all of it has to wait, the
// operation stands as the tries ended, and the reason says so.
func (l *Loop) nextLeft(r *row, m *rowMemory, left []fleet.Resource) (next fleet.Resource, due bool, why string) {
	fewest := 0
	for _, res := range left {
		one := m.left[res.ID]
		if one == nil {
			return res, true, ""
		}
		if !one.again.After(l.last) && (!due || one.tries < fewest) {
			next, fewest, due = res, one.tries, true
		}
	}
	if due {
		return next, true, ""
	}
	state, reasons := fleet.OperationAccepted, []string(nil)
	for _, res := range left {
		one := m.left[res.ID]
		if one.state == fleet.OperationRefused || one.state == fleet.OperationUnknown && state != fleet.OperationRefused {
			state = one.state
		}
		reasons = append(reasons, fmt.Sprintf("%s is still there after %s to remove it: %s", described(res), attempts(one.tries), one.why))
	}
	if r.terminate.State != state {
		r.edit(r.terminate).State = state
	}
	return next, false, capital(strings.Join(reasons, "; "))
}

func attempts(n int) string {
	if n == 1 {
		return "an attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

// leftDue is when something that the instance left is tried again; zero: nothing waits.
func (m *rowMemory) leftDue(now time.Time) (due time.Time) {
	for _, one := range m.left {
		if one.again.After(now) && (due.IsZero() || one.again.Before(due)) {
			due = one.again
		}
	}
	return due
}
