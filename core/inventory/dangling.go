package inventory

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
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
	// again is when it may be tried next, state how the last try ended, and why the
	// reason that was given for it, if any.
	again time.Time
	state fleet.OperationState
	why   reason.Reason
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
	one.again, one.state, one.why = now.Add(RemovalDelay(one.tries)), op.State, op.Reason
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
) (next fleet.Resource, due bool, state fleet.OperationState, why reason.Reason) {
	fewest := 0
	for _, res := range dangling {
		one := m.byID[res.ID]
		if one == nil {
			return res, true, "", reason.Reason{}
		}
		if !one.again.After(now) && (!due || one.tries < fewest) {
			next, fewest, due = res, one.tries, true
		}
	}
	if due {
		return next, true, "", reason.Reason{}
	}
	state = fleet.OperationAccepted
	var tried []reason.RemovalTried
	for _, res := range dangling {
		one := m.byID[res.ID]
		if one.state == fleet.OperationRefused ||
			one.state == fleet.OperationUnknown && state != fleet.OperationRefused {
			state = one.state
		}
		tried = append(tried, reason.RemovalTried{Resource: NameOf(res), Attempts: one.tries, Because: one.why})
	}
	return next, false, state, reason.Of(reason.DanglingRemains{Resources: reason.ListOf(tried...)})
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

// NameOf is how a reason names a resource.
func NameOf(res fleet.Resource) reason.ResourceName {
	if IsInstance(res) {
		return reason.ResourceName{ID: string(res.ID)}
	}
	return reason.ResourceName{ID: string(res.ID), Kind: res.Kind}
}
