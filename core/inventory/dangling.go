package inventory

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
	"github.com/forgeyard/forgeyard-fleet/core/retry"
)

// Removals is how it goes with removing the dangling resources of one instance. One
// may be such as can't be removed, since somebody attached it to a machine of his
// own: then it is tried ever more rarely, and keeps nothing else of the instance from
// going.
type Removals struct {
	// asked is the resource that the last call named; "": it was the instance itself.
	asked fleet.ProviderInstanceRef
	byID  map[fleet.ProviderInstanceRef]*removal
}

// removal is how it goes with one of them.
type removal struct {
	tries int
	// again is when it may be tried next, state how the last try ended, and reason
	// why, where it was given a reason.
	again  time.Time
	state  fleet.OperationState
	reason string
}

// Sent notes that a call to remove a dangling resource went out, "": one to remove the
// instance itself.
func (m *Removals) Sent(id fleet.ProviderInstanceRef) {
	m.asked = id
	if id == "" {
		return
	}
	if m.byID == nil {
		m.byID = map[fleet.ProviderInstanceRef]*removal{}
	}
	if m.byID[id] == nil {
		m.byID[id] = &removal{}
	}
	m.byID[id].tries++
}

// Failed takes in that what the last call named may still be there; false: that
// was the instance itself, or this process made no call.
func (m *Removals) Failed(op *fleet.Operation, now time.Time) bool {
	one := m.byID[m.asked]
	if m.asked == "" || one == nil {
		return false
	}
	one.again, one.state, one.reason = now.Add(
		RemovalDelay(one.tries),
	), op.State, cmp.Or(
		op.Message,
		"the provider gave no reason",
	)
	return true
}

// RemovalDelay is how long to wait before the same resource is asked to go again: 5 s
// doubling to 5 min.
func RemovalDelay(attempts int) time.Duration {
	return retry.Delay(5*time.Second, attempts-1, 5*time.Minute)
}

// Next is what is to be removed next of dangling resources, of which there is one at
// least: of those that are due the one that was tried least. Where all of them have
// to wait, state is how the tries ended, and why says so.
func (m *Removals) Next(
	dangling []fleet.Resource,
	now time.Time,
) (next fleet.Resource, due bool, state fleet.OperationState, why string) {
	fewest := 0
	for _, res := range dangling {
		one := m.byID[res.ID]
		if one == nil {
			return res, true, "", ""
		}
		if !one.again.After(now) && (!due || one.tries < fewest) {
			next, fewest, due = res, one.tries, true
		}
	}
	if due {
		return next, true, "", ""
	}
	state, reasons := fleet.OperationAccepted, []string(nil)
	for _, res := range dangling {
		one := m.byID[res.ID]
		if one.state == fleet.OperationRefused ||
			one.state == fleet.OperationUnknown && state != fleet.OperationRefused {
			state = one.state
		}
		reasons = append(
			reasons,
			fmt.Sprintf("%s is still there after %s to remove it: %s", Describe(res), attempts(one.tries), one.reason),
		)
	}
	return next, false, state, text.Capital(strings.Join(reasons, "; "))
}

func attempts(n int) string {
	if n == 1 {
		return "an attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

// NextTry is when a dangling resource is tried again; zero: none waits.
func (m *Removals) NextTry(now time.Time) (due time.Time) {
	for _, one := range m.byID {
		if one.again.After(now) && (due.IsZero() || one.again.Before(due)) {
			due = one.again
		}
	}
	return due
}

// MakeDue makes all of them due: the clock was set back.
func (m *Removals) MakeDue() {
	for _, one := range m.byID {
		one.again = time.Time{}
	}
}

// Describe is a resource in words.
func Describe(res fleet.Resource) string {
	if IsInstance(res) {
		return string(res.ID)
	}
	return fmt.Sprintf("the %s %s", res.Kind, res.ID)
}
