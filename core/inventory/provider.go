package inventory

import (
	"cmp"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Provider is what is known of a provider and of what it lists.
type Provider struct {
	// Facts is nil while no plugin process answers; Down says why, Detail in full as the
	// plugin's host told it, and Blocked that only a person can bring it back.
	Facts   *fleet.ProviderFacts
	Down    reason.Reason
	Detail  string
	Blocked bool
	// Account is what the last process that answered reached.
	Account string
	// Fault is what went wrong with it last: its plugin doesn't start or refuses its
	// configuration, or the last inspection shows less than everything. Zero: nothing.
	Fault reason.Reason
	// Unobservable is why the last inspection shows less than everything; zero: it was
	// complete.
	Unobservable reason.Reason
	// Inspecting is set while an inspection is under way. InspectionStep is the step
	// that asked for the last one.
	Inspecting     bool
	InspectionStep int
	// Listing is of the last complete inspection.
	Listing *Listing

	// inspected is when the last complete inspection was asked for, ended when it was
	// over, and askedKeys when one by keys was asked for.
	inspected, ended, askedKeys time.Time
	// retryAfter is until when the provider asked to be left alone.
	retryAfter time.Time
	// vanishing is since when most of what is known has been missing.
	vanishing time.Time
	// unrecorded are the resources without a live record at the last listing,
	// classified is the step of that, and firstListed since when each of them has
	// been listed without a gap.
	unrecorded  []Unrecorded
	classified  int
	firstListed map[resourceID]listedSince
	// notices are what its plugin announced lately, hinted is the step of its last
	// word that something has changed.
	notices []notice
	hinted  int
}

// NewProvider is one of which nothing is known yet.
func NewProvider() *Provider {
	return &Provider{Unobservable: reason.Of(reason.NotInspectedYet{})}
}

// Ready takes in that a plugin process answers. It may reach something else than the
// one before; accountChanged says that it does.
func (p *Provider) Ready(f fleet.ProviderFacts) (accountChanged bool) {
	accountChanged = p.Account != f.Account
	if accountChanged {
		// What was seen of another account says nothing about this one.
		p.Listing, p.unrecorded, p.classified = nil, nil, 0
	}
	p.Account, p.Facts, p.Down, p.Detail, p.Blocked, p.Fault = f.Account, &f, reason.Reason{}, "", false, reason.Reason{}
	p.firstListed = nil
	return accountChanged
}

// Lost takes in that no plugin process answers any more. One that is only being
// started or stopped has no fault, and mends none that it had.
func (p *Provider) Lost(message, detail string, needsPerson, starting bool) {
	down := reason.Of(reason.PluginDown{Message: message})
	p.Facts, p.Down, p.Detail, p.Blocked, p.Unobservable = nil, down, cmp.Or(detail, message), needsPerson, down
	p.firstListed = nil
	if !starting {
		p.Fault = down
	}
}

// WrongAccount says that the provider's credentials reach another account than the
// one that the instance was made in; zero: they don't. It is asked at every call, too:
// a plugin with other credentials may be there before its first inspection is.
func (p *Provider) WrongAccount(i *fleet.CapacityInstance) reason.Reason {
	if p.Facts == nil || i.Account == "" || i.Account == p.Facts.Account {
		return reason.Reason{}
	}
	return reason.Of(reason.WrongAccount{Reached: p.Facts.Account, Made: i.Account})
}

// Announce keeps a notice about a machine. The machine may be unknown, and the same
// notice may come again. One without a kind is a hint that something has changed.
func (p *Provider) Announce(instance fleet.ProviderInstanceRef, n fleet.Notice, now time.Time, step int) {
	if !n.Kind.Known() {
		p.hinted = step
		return
	}
	p.notices = slices.DeleteFunc(p.notices, func(old notice) bool {
		return old.instance == instance && old.notice.ID == n.ID
	})
	p.notices = append(p.notices, notice{instance, n, now})
}

// notice is what was announced, with when it came.
type notice struct {
	instance fleet.ProviderInstanceRef
	notice   fleet.Notice
	at       time.Time
}

// What is kept of notices after they were taken in, about machines that are no one's
// yet: an answer may be on its way. Beyond MaxNotices the oldest are forgotten, and so
// is each after NoticeLife.
const (
	MaxNotices = 1000
	NoticeLife = 15 * time.Minute
)

// Notices are what was announced lately, by machine. However many came since the
// last call, each of them is in it once.
func (p *Provider) Notices(now time.Time) map[fleet.ProviderInstanceRef][]fleet.Notice {
	// An inventory hands the same machine out again: what was announced long ago
	// isn't about who has it now.
	p.notices = slices.DeleteFunc(p.notices, func(n notice) bool { return now.Sub(n.at) > NoticeLife })
	byInstance := map[fleet.ProviderInstanceRef][]fleet.Notice{}
	for _, n := range p.notices {
		byInstance[n.instance] = append(byInstance[n.instance], n.notice)
	}
	p.notices = p.notices[max(0, len(p.notices)-MaxNotices):]
	return byInstance
}
