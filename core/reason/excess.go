package reason

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// ProviderUnobservable: the last inspection of a provider failed, was incomplete, or never
// happened.
type ProviderUnobservable struct {
	Provider string `json:"provider"`
	Because  Reason `json:"because"`
}

// Text implements Detail.
func (d ProviderUnobservable) Text() string {
	return fmt.Sprintf("provider %s can't be inspected (%s)", d.Provider, d.Because.Text())
}

// SchedulerUnreachable: a scheduler doesn't say what its jobs need.
type SchedulerUnreachable struct {
	Scheduler string `json:"scheduler"`
	Because   Reason `json:"because"`
}

// Text implements Detail.
func (d SchedulerUnreachable) Text() string {
	return fmt.Sprintf("scheduler.%s is unreachable (%s)", d.Scheduler, d.Because.Text())
}

// SchedulerNotAsked: no manager has asked a scheduler yet how many jobs are queued.
type SchedulerNotAsked struct {
	Scheduler string `json:"scheduler"`
}

// Text implements Detail.
func (d SchedulerNotAsked) Text() string {
	return fmt.Sprintf("scheduler.%s has not been asked yet, a running manager asks it", d.Scheduler)
}

// Unobservable: instances would leave, but nothing is taken away or replaced while
// something can't be seen.
type Unobservable struct {
	// Excess is how many instances more than Desired there are.
	Excess  int `json:"excess,omitempty"`
	Desired int `json:"desired,omitempty"`
	// Outdated instances would be replaced.
	Outdated int    `json:"outdated,omitempty"`
	Because  Reason `json:"because"`
}

// Text implements Detail.
func (d Unobservable) Text() string {
	if d.Outdated > 0 {
		return fmt.Sprintf("%s outdated, none replaced: %s", text.Plural(d.Outdated, "instance"), d.Because.Text())
	}
	return above(d.Excess, d.Desired, "none removed, "+d.Because.Text())
}

// RunnersLost: more and more runners stopped talking to the scheduler, so none of the
// instances that aren't needed leaves.
type RunnersLost struct {
	Excess  int    `json:"excess"`
	Desired int    `json:"desired"`
	Message string `json:"message"`
}

// Text implements Detail.
func (d RunnersLost) Text() string {
	return above(d.Excess, d.Desired, "none removed, "+text.Clause(d.Message))
}

// IdleGrace: instances that aren't needed have been idle for too short a time to leave.
type IdleGrace struct {
	Excess  int      `json:"excess"`
	Desired int      `json:"desired"`
	Grace   Duration `json:"grace"`
}

// Text implements Detail.
func (d IdleGrace) Text() string {
	return above(d.Excess, d.Desired, "idle for less than idle_grace = "+d.Grace.String())
}

// Cooldown: the fleet changed its size just now, so no instance leaves yet.
type Cooldown struct {
	Excess   int      `json:"excess"`
	Desired  int      `json:"desired"`
	Cooldown Duration `json:"cooldown"`
}

// Text implements Detail.
func (d Cooldown) Text() string {
	return above(d.Excess, d.Desired, "the size changed less than cooldown = "+d.Cooldown.String()+" ago")
}

// Pinned: a person pinned instances that would leave or be replaced.
type Pinned struct {
	// Excess is how many instances more than Desired stay.
	Excess  int `json:"excess,omitempty"`
	Desired int `json:"desired,omitempty"`
	// Outdated instances stay until the pin ends.
	Outdated int `json:"outdated,omitempty"`
}

// Text implements Detail.
func (d Pinned) Text() string {
	if d.Outdated > 0 {
		return text.Plural(d.Outdated, "instance") + " outdated and pinned: replaced when the pin ends"
	}
	return above(d.Excess, d.Desired, "pinned")
}

// PaidMinimum: instances that aren't needed stay as idle capacity, since their minimum
// commitment is paid for whether they leave or not.
type PaidMinimum struct {
	Excess  int `json:"excess"`
	Desired int `json:"desired"`
	// Until is when the first commitment ends.
	Until Instant `json:"until"`
}

// Text implements Detail.
func (d PaidMinimum) Text() string {
	until := " until "
	if d.Excess > 1 {
		until = ", the first until "
	}
	return above(d.Excess, d.Desired, "kept idle, paid for"+until+text.Moment(d.Until.Time()))
}

// RequestPending: requests that are no longer needed are under way at the provider, and
// are taken back once it has answered.
type RequestPending struct {
	Requests int `json:"requests"`
}

// Text implements Detail.
func (d RequestPending) Text() string {
	return text.Plural(d.Requests, "request") +
		" in progress and no longer needed: taken back once the provider has answered"
}

var excessReasons = []Detail{
	ProviderUnobservable{"local.here", Of(InspectionIncomplete{})},
	SchedulerUnreachable{"forgeyard.ci", Of(SchedulerError{"connection refused"})},
	SchedulerNotAsked{"forgeyard.ci"},
	Unobservable{Excess: 2, Desired: 3, Because: Of(ProviderUnobservable{"local.here", Of(InspectionIncomplete{})})},
	RunnersLost{2, 3, "7 runners were lost in the last hour"},
	IdleGrace{2, 3, Duration(10 * time.Minute)},
	Cooldown{2, 3, Duration(5 * time.Minute)},
	Pinned{Excess: 1, Desired: 3},
	PaidMinimum{1, 3, exampleInstant},
	RequestPending{2},
}
