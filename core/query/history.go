package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// HistoryFilter narrows History. The zero value asks for the first page of
// everything.
type HistoryFilter struct {
	// Fleet is an address or a name; "": all.
	Fleet string
	// State is the only one wanted; "": all.
	State fleet.CapacityInstanceState
	// Before is where the page begins: Next of the page before.
	Before fleet.CapacityInstanceID
	// Limit is how many are wanted at most, of at most 1000; 0: 100.
	Limit int
}

// History is a page of instances, live and ended, without their runners and
// operations. Ended ones are kept for a month.
type History struct {
	Instances []view.Instance
	// Next is empty after the last page. A page may have fewer than were wanted
	// and still not be the last.
	Next fleet.CapacityInstanceID
}

const (
	usualPage = 100
	maxPage   = 1000
	// maxRead bounds how many rows one page looks at.
	maxRead = 10 * maxPage
)

// History lists instances, the ended ones too, the newest first.
func (q Queries) History(ctx context.Context, by HistoryFilter) (History, error) {
	caller, err := access.Authorize(ctx, "instances")
	if err != nil {
		return History{}, err
	}
	addresses, err := q.store.FleetAddresses(ctx)
	if err != nil {
		return History{}, err
	}
	limit := by.Limit
	if limit <= 0 {
		limit = usualPage
	}
	limit = min(limit, maxPage)
	page := History{Instances: []view.Instance{}, Next: by.Before}
	for read := 0; read < maxRead; read += maxPage {
		rows, err := q.store.Instances(ctx, store.InstanceFilter{IncludeTerminated: true, Before: page.Next, Limit: maxPage})
		if err != nil {
			return History{}, err
		}
		for n, i := range rows {
			page.Next = i.ID
			address := addresses[i.Fleet]
			if caller.MayTouch(address) && by.wants(i, address) {
				page.Instances = append(page.Instances, view.One(i, address, nil, nil))
			}
			if len(page.Instances) == limit && (n+1 < len(rows) || len(rows) == maxPage) {
				return page, nil
			}
		}
		if len(rows) < maxPage {
			page.Next = ""
			return page, nil
		}
	}
	return page, nil
}

func (q HistoryFilter) wants(i fleet.CapacityInstance, address fleet.FleetAddress) bool {
	return (q.Fleet == "" || q.Fleet == string(address) || q.Fleet == address.Name()) &&
		(q.State == "" || q.State == i.State)
}

// maxCandidates is how many ids an ambiguous one is told with.
const maxCandidates = 10

// Instance finds one instance, live or terminated, with its operations. The
// beginning or the end of its id is enough where no other instance of the caller's has
// it.
func (q Queries) Instance(ctx context.Context, id string) (view.Instance, error) {
	caller, err := access.Authorize(ctx, "instance")
	if err != nil {
		return view.Instance{}, err
	}
	i, address, err := q.find(ctx, caller, id)
	if err != nil {
		return view.Instance{}, err
	}
	operations, err := q.store.Operations(ctx, i.ID)
	if err != nil {
		return view.Instance{}, err
	}
	subject, _, err := q.store.EnrollmentSubject(ctx, i.Key)
	if err != nil {
		return view.Instance{}, err
	}
	one := view.One(i, address, subject.Runner, operations)
	one.Uses(q.now.Observed().Usage)
	one.Refusals = q.refusalsOf(i.ID)
	standing, err := q.store.Overrides(ctx)
	if err != nil {
		return view.Instance{}, err
	}
	one.PinnedBy(standing, q.now.Clock())
	return one, nil
}

// Where events and others show no more of an id than its end, that has ShownOfID
// letters and Ellipsis before it.
const (
	Ellipsis  = "…"
	ShownOfID = 8
)

// find is the instance of an id, or of its beginning, or of its end as it is shown, in
// the letters of any case. Fewer letters are no end without the sign of one.
// What is in other fleets than the caller's isn't there: that it exists is not theirs to
// know.
func (q Queries) find(
	ctx context.Context,
	caller access.Caller,
	word string,
) (fleet.CapacityInstance, fleet.FleetAddress, error) {
	none := fleet.CapacityInstance{}
	missing := &access.NotFoundError{Kind: "instance", ID: word}
	addresses, err := q.store.FleetAddresses(ctx)
	if err != nil {
		return none, "", err
	}
	id, onlyEnd := strings.CutPrefix(strings.ToLower(word), Ellipsis)
	exact, found, err := q.store.Instance(ctx, fleet.CapacityInstanceID(id))
	switch {
	case err != nil:
		return none, "", err
	case found && caller.MayTouch(addresses[exact.Fleet]):
		return exact, addresses[exact.Fleet], nil
	case found || id == "":
		return none, "", missing
	}
	var rows []fleet.CapacityInstance
	if onlyEnd || len(id) >= ShownOfID {
		rows, err = q.store.InstancesEnding(ctx, id, maxRead)
	}
	if err == nil && !onlyEnd {
		var begin []fleet.CapacityInstance
		begin, err = q.store.InstancesBeginning(ctx, id, maxRead)
		rows = append(rows, begin...)
	}
	if err != nil {
		return none, "", err
	}
	var own []fleet.CapacityInstance
	for _, i := range rows {
		if caller.MayTouch(addresses[i.Fleet]) {
			own = append(own, i)
		}
	}
	slices.SortFunc(own, func(a, b fleet.CapacityInstance) int { return cmp.Compare(b.ID, a.ID) })
	own = slices.CompactFunc(own, func(a, b fleet.CapacityInstance) bool { return a.ID == b.ID })
	switch len(own) {
	case 0:
		return none, "", missing
	case 1:
		return own[0], addresses[own[0].Fleet], nil
	}
	return none, "", &access.InvalidError{Reason: ambiguous(word, own, addresses)}
}

// FindForOrder is the instance that an order is about. What is cut off by mistake must not
// be an order about another instance: a part of an id has at least the letters that are
// shown of one, or the sign of an end before it.
func (q Queries) FindForOrder(
	ctx context.Context,
	caller access.Caller,
	id fleet.CapacityInstanceID,
) (fleet.CapacityInstance, fleet.FleetAddress, error) {
	i, address, err := q.find(ctx, caller, string(id))
	part := err == nil && string(i.ID) != strings.ToLower(string(id)) && !strings.HasPrefix(string(id), Ellipsis)
	if part && len(id) < ShownOfID {
		return i, address, access.Invalid(
			"%q is too little of an id for an order: give at least %d letters of its beginning or end",
			id,
			ShownOfID,
		)
	}
	return i, address, err
}

// ambiguous lists what an id may mean, the newest first.
func ambiguous(id string, own []fleet.CapacityInstance, addresses map[fleet.RunnerFleetID]fleet.FleetAddress) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d instances have an id that begins or ends with %q; give more of it:", len(own), id)
	for _, i := range own[:min(len(own), maxCandidates)] {
		fmt.Fprintf(&text, "\n  %s  %s, %s", i.ID, addresses[i.Fleet], i.State)
	}
	if more := len(own) - maxCandidates; more > 0 {
		fmt.Fprintf(&text, "\n  and %d more; forgeyard-fleet instance list --all has them", more)
	}
	return text.String()
}
