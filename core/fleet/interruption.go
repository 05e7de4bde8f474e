package fleet

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// NoticeKind is what a provider says that it will do to a host.
type NoticeKind string

// The kinds of notice. Only an interruption says that the host goes away whatever
// runs on it; the others are reasons to leave it gently.
const (
	// NoticeInterruption: the provider takes the host away (spec §41).
	NoticeInterruption NoticeKind = "interruption"
	// NoticeMaintenance: the provider will stop, restart or move it for its own work.
	NoticeMaintenance NoticeKind = "maintenance"
	// NoticeRebalance: it is more likely than before to be taken away.
	NoticeRebalance NoticeKind = "rebalance"
)

// gravity orders the kinds; an unknown one weighs nothing.
var gravity = map[NoticeKind]int{NoticeRebalance: 1, NoticeMaintenance: 2, NoticeInterruption: 3}

// Known says that it is one of the kinds.
func (k NoticeKind) Known() bool { return gravity[k] > 0 }

// Notice is one thing that a provider announced about a host.
type Notice struct {
	// ID names it among the notices about the host: the same one may come again.
	ID   string     `json:"id"`
	Kind NoticeKind `json:"kind"`
	// Deadline is when it happens, by the manager's clock; zero: unknown.
	Deadline time.Time `json:"deadline,omitzero"`
	// Detail is the provider's own word for it, in one line.
	Detail string `json:"detail,omitempty"`
}

// Graver says that the notice leaves less time or less choice than the other.
func (n Notice) Graver(than Notice) bool {
	if n.Kind != than.Kind {
		return gravity[n.Kind] > gravity[than.Kind]
	}
	return !n.Deadline.IsZero() && (than.Deadline.IsZero() || n.Deadline.Before(than.Deadline))
}

// NoticeSource is who heard of a notice.
type NoticeSource string

// NoticedByAgent: the host's agent, from the metadata service. NoticedByProvider:
// the provider's plugin.
const (
	NoticedByAgent    NoticeSource = "agent"
	NoticedByProvider NoticeSource = "provider"
)

// Interruption is the gravest notice about an instance.
type Interruption struct {
	Notice
	Source NoticeSource `json:"source"`
	// Heard is when the manager first knew of it.
	Heard time.Time `json:"heard"`
	// Withdrawn is when it was no longer there; zero: it stands.
	Withdrawn time.Time `json:"withdrawn,omitzero"`
}

// Stands says that there is a notice and that it was not withdrawn.
func (i *Interruption) Stands() bool { return i != nil && i.Withdrawn.IsZero() }

// TakesAway says that the provider's word stands that it takes the host away.
func (i *Interruption) TakesAway() bool { return i.Stands() && i.Kind == NoticeInterruption }

// Due says that the time has come at which the provider takes the host away. One
// that named no time is never due: its end is seen when it comes.
func (i *Interruption) Due(now time.Time) bool {
	return i.TakesAway() && !i.Deadline.IsZero() && !now.Before(i.Deadline)
}

// Announced is what was announced, as a reason that names no instance.
func (i *Interruption) Announced() reason.Interruption {
	return reason.Interruption{
		Kind: string(i.Kind), Deadline: reason.At(i.Deadline), Message: i.Detail, Source: string(i.Source),
		Heard: reason.At(i.Heard), Withdrawn: reason.At(i.Withdrawn),
	}
}
