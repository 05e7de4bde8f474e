package inventory

import (
	"fmt"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

const cloud = fleet.ProviderAddress("cloud.a")

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// ready is a provider whose resources are proven by signed tags.
func ready() *Provider {
	p := NewProvider()
	p.Ready(fleet.ProviderFacts{Account: "one", Ownership: fleet.OwnershipSigned, ListSettle: time.Minute})
	return p
}

// list has a step inspect the provider, which shows the resources.
func list(
	p *Provider,
	step int,
	began time.Time,
	known []*fleet.CapacityInstance,
	resources ...fleet.Resource,
) (complete bool) {
	p.BeginInspection(began, step, false)
	return p.Believe(
		p.EndInspection(began, began, fleet.Inspection{Resources: resources, Complete: true}, false, 0),
		reason.Reason{},
		known,
		noon,
	)
}

func owner(t *testing.T) Owner {
	t.Helper()
	keys, err := ownership.NewKeyring(make([]byte, ownership.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return Owner{Installation: "demo", Keys: keys}
}

func TestListWithoutMostResourcesIsNotBelievedAtOnce(t *testing.T) {
	p := ready()
	var known []*fleet.CapacityInstance
	for n := range 4 {
		known = append(
			known,
			&fleet.CapacityInstance{Key: fleet.OperationID(fmt.Sprint("k", n)), State: fleet.Healthy, SeenAt: noon},
		)
	}
	one := fleet.Resource{ID: "vm-0", Key: "k0"}
	if list(p, 1, noon, known, one) {
		t.Error("3 of 4 resources were missing, and the list was believed")
	}
	if p.Listing != nil ||
		p.Unobservable != reason.Of(reason.ResourcesVanished{Missing: 3, Known: 4, After: reason.Duration(vanishedFor)}) {
		t.Errorf("listing %v, unobservable %q", p.Listing, p.Unobservable)
	}
	if !list(p, 2, noon.Add(vanishedFor), known, one) {
		t.Errorf("not believed after %s: %s", vanishedFor, p.Unobservable)
	}
	if !p.Unobservable.IsZero() || p.Listing == nil {
		t.Errorf("listing %v, unobservable %q", p.Listing, p.Unobservable)
	}
}

func TestAnotherAccountForgetsTheListing(t *testing.T) {
	p := ready()
	list(p, 1, noon, nil)
	if p.Ready(fleet.ProviderFacts{Account: "one"}) || p.Listing == nil {
		t.Error("the same account must keep the listing")
	}
	if !p.Ready(fleet.ProviderFacts{Account: "two"}) || p.Listing != nil {
		t.Error("another account must forget the listing")
	}
}

func TestNextInspectionFollowsWhatIsWaitedFor(t *testing.T) {
	p := ready()
	if got := p.NextInspection(noon, false, nil); got != noon {
		t.Errorf("first inspection at %s", got)
	}
	list(p, 1, noon, nil)
	for name, test := range map[string]struct {
		atOnce  bool
		waiting []time.Time
		want    time.Duration
	}{
		"settled":          {want: SettledInterval},
		"an order waits":   {atOnce: true, want: time.Second},
		"just begun":       {waiting: []time.Time{noon}, want: EagerInterval},
		"waits for long":   {waiting: []time.Time{noon.Add(-49 * time.Second)}, want: 5 * time.Second},
		"waits for an age": {waiting: []time.Time{noon.Add(-time.Hour)}, want: SettledInterval},
	} {
		if got := p.NextInspection(noon.Add(time.Second), test.atOnce, test.waiting).Sub(noon); got != test.want {
			t.Errorf("%s: %s after the last, want %s", name, got, test.want)
		}
	}
	p.Announce("vm-1", fleet.Notice{}, noon, 1)
	if got := p.NextInspection(noon.Add(time.Second), false, nil).Sub(noon); got != SettledInterval {
		t.Errorf("a hint from before the inspection: %s after the last", got)
	}
	p.Announce("vm-1", fleet.Notice{}, noon, 2)
	if got := p.NextInspection(noon.Add(time.Second), false, nil).Sub(noon); got != EagerInterval {
		t.Errorf("a hint: %s after the last, want %s", got, EagerInterval)
	}
}

func TestNoticesAreForgottenAfterTheirLife(t *testing.T) {
	p := ready()
	p.Announce("vm-1", fleet.Notice{ID: "n", Kind: fleet.NoticeRebalance}, noon, 1)
	p.Announce("vm-1", fleet.Notice{ID: "n", Kind: fleet.NoticeRebalance}, noon, 2)
	if got := p.Notices(noon.Add(NoticeLife)); len(got["vm-1"]) != 1 {
		t.Errorf("notices: %v", got)
	}
	if got := p.Notices(noon.Add(NoticeLife + time.Second)); len(got) != 0 {
		t.Errorf("notices after their life: %v", got)
	}
}

func TestClassifyTellsOrphansFromForeignResources(t *testing.T) {
	o, p := owner(t), ready()
	f := fleet.ManagedFleet{ID: "f1"}
	f.Address = "fleet.a"
	tags, err := o.Tags(f, fleet.CapacityInstance{ID: "i1", Fleet: "f1", Key: "k1"})
	if err != nil {
		t.Fatal(err)
	}
	resources := []fleet.Resource{
		{ID: "orphan", Key: "k1", Tags: tags},
		{ID: "unsigned", Key: "k2", Tags: map[string]string{InstallationTag: "demo", KeyTag: "k2"}},
		{ID: "other", Key: "k3", Tags: map[string]string{InstallationTag: "other"}},
		{ID: "ours", Key: "live"},
	}
	records := Records{
		Provider: cloud, Fleets: map[fleet.RunnerFleetID]fleet.ManagedFleet{"f1": f}, OrphanGrace: time.Minute,
		Live:   func(key fleet.OperationID) bool { return key == "live" },
		Recall: func([]fleet.OperationID, []fleet.CapacityInstanceID) ([]store.Recalled, error) { return nil, nil },
	}
	for step, began := range []time.Time{noon, noon.Add(2 * time.Minute)} {
		list(p, step+1, began, nil, resources...)
		if !p.ClassificationDue() {
			t.Fatal("a new listing must be classified")
		}
		if err := p.Classify(o, records); err != nil {
			t.Fatal(err)
		}
		orphan := p.UnrecordedWithID("orphan")
		if over, want := p.GraceOver(orphan, time.Minute, noon), step == 1; over != want {
			t.Errorf("listing %d: grace over %t, want %t", step+1, over, want)
		}
	}
	for id, want := range map[fleet.ProviderInstanceRef]fleet.Classification{"orphan": fleet.Orphan,
		"unsigned": fleet.Foreign, "other": fleet.Foreign, "ours": ""} {
		if got := p.UnrecordedWithID(id).Classification; got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
	if u := p.UnrecordedWithID("orphan"); u.Owner != "f1" || !u.RemovedAfter.Equal(noon.Add(time.Minute)) {
		t.Errorf("the orphan is of %q and removed after %s", u.Owner, u.RemovedAfter)
	}
}

func TestResourceOfAnEndedInstanceIsProvenByItsRecord(t *testing.T) {
	o := owner(t)
	named := fleet.ProviderFacts{Account: "one", Ownership: fleet.OwnershipNamed}
	ended := &store.Recalled{
		Instance: fleet.CapacityInstance{
			ID:               "i1",
			Fleet:            "f1",
			Key:              "k1",
			Provider:         cloud,
			Account:          "one",
			ProviderInstance: "vm-1",
			State:            fleet.Terminated,
		},
	}
	for name, test := range map[string]struct {
		res  fleet.Resource
		want reason.Detail
	}{
		"its own": {fleet.Resource{ID: "vm-1", Key: "k1"}, nil},
		"a copy":  {fleet.Resource{ID: "vm-2", Key: "k1"}, reason.CopyOfEnded{Instance: "i1", Resource: "vm-1"}},
		"with other tags": {fleet.Resource{ID: "vm-1", Key: "k1", Tags: map[string]string{InstanceTag: "i2"}},
			reason.TagContradicts{Tag: InstanceTag, Has: "i2", Want: "i1"}},
		"of an other name": {fleet.Resource{ID: "vm-1", Key: "k1", Tags: map[string]string{InstallationTag: "other"}},
			reason.OtherInstallation{Installation: "other"}},
	} {
		_, why := o.foreign(cloud, named, test.res, record{ended: ended})
		if why != reason.Of(test.want) {
			t.Errorf("%s: %#v, want %#v", name, why.Params, test.want)
		}
	}
}

func TestDanglingResourceThatStaysKeepsNoOtherFromGoing(t *testing.T) {
	var m Removals
	left := []fleet.Resource{{ID: "vol-1", Kind: "volume"}, {ID: "vol-2", Kind: "volume"}}
	m.Sent("vol-1")
	m.Failed(
		&fleet.Operation{State: fleet.OperationRefused, Reason: reason.Of(reason.ProviderError{Message: "in use"})},
		noon,
	)
	if next, due, _, _ := m.Next(left, noon); next.ID != "vol-2" || !due {
		t.Errorf("next is %s, due %t", next.ID, due)
	}
	m.Sent("vol-2")
	m.Failed(&fleet.Operation{State: fleet.OperationAccepted}, noon)
	_, due, state, why := m.Next(left, noon)
	tried := reason.ListOf(
		reason.RemovalTried{
			Resource: NameOf(left[0]),
			Attempts: 1,
			Because:  reason.Of(reason.ProviderError{Message: "in use"}),
		},
		reason.RemovalTried{Resource: NameOf(left[1]), Attempts: 1},
	)
	if due || state != fleet.OperationRefused || why != reason.Of(reason.DanglingRemains{Resources: tried}) {
		t.Errorf("due %t, state %s: %s", due, state, why)
	}
	if got := m.NextTry(noon); got.Sub(noon) != 5*time.Second {
		t.Errorf("next try after %s", got.Sub(noon))
	}
	m.MakeDue()
	if _, due, _, _ := m.Next(left, noon); !due {
		t.Error("nothing is due after the clock was set back")
	}
}

func TestOrphanGraceCountsListingsWithoutAGap(t *testing.T) {
	o := owner(t)
	f := fleet.ManagedFleet{ID: "f1"}
	tags, err := o.Tags(f, fleet.CapacityInstance{ID: "i1", Fleet: "f1", Key: "k1"})
	if err != nil {
		t.Fatal(err)
	}
	records := Records{
		Provider: cloud, Fleets: map[fleet.RunnerFleetID]fleet.ManagedFleet{"f1": f}, OrphanGrace: time.Minute,
		Live:   func(fleet.OperationID) bool { return false },
		Recall: func([]fleet.OperationID, []fleet.CapacityInstanceID) ([]store.Recalled, error) { return nil, nil },
	}
	// listed is an orphan that two listings show, the second after a time.
	listed := func(t *testing.T, between time.Duration) (*Provider, Unrecorded) {
		p := ready()
		for step, began := range []time.Time{noon, noon.Add(between)} {
			list(p, step+1, began, nil, fleet.Resource{ID: "orphan", Key: "k1", Tags: tags})
			if err := p.Classify(o, records); err != nil {
				t.Fatal(err)
			}
			if u := p.UnrecordedWithID("orphan"); step == 0 && p.GraceOver(u, 0, noon.Add(-time.Hour)) {
				t.Error("one listing is enough")
			}
		}
		return p, p.UnrecordedWithID("orphan")
	}
	for name, test := range map[string]struct {
		between   time.Duration
		listening time.Duration
		then      func(*Provider)
		want      bool
	}{
		"the whole grace":     {between: time.Minute, want: true},
		"less than the grace": {between: time.Minute - 1},
		"a sleep in between":  {between: time.Minute, listening: time.Second},
		"a plugin that ended": {between: time.Minute, then: func(p *Provider) {
			p.Lost("it crashed", "", false, false)
		}},
		"a plugin that started again": {between: time.Minute, then: func(p *Provider) { p.Ready(*p.Facts) }},
	} {
		t.Run(name, func(t *testing.T) {
			p, u := listed(t, test.between)
			if test.then != nil {
				test.then(p)
			}
			if got := p.GraceOver(u, time.Minute, noon.Add(test.listening)); got != test.want {
				t.Errorf("grace over %t, want %t", got, test.want)
			}
		})
	}
}

func TestTheNewestNoticesAreKept(t *testing.T) {
	p := ready()
	for n := range MaxNotices + 1 {
		p.Announce(
			fleet.ProviderInstanceRef(fmt.Sprint("vm-", n)),
			fleet.Notice{ID: "n", Kind: fleet.NoticeRebalance},
			noon,
			1,
		)
	}
	if got := p.Notices(noon); len(got) != MaxNotices+1 {
		t.Errorf("%d of %d notices are told", len(got), MaxNotices+1)
	}
	kept := p.Notices(noon)
	if len(kept) != MaxNotices || kept["vm-0"] != nil ||
		len(kept[fleet.ProviderInstanceRef(fmt.Sprint("vm-", MaxNotices))]) != 1 {
		t.Errorf("%d notices are kept, of vm-0 %v", len(kept), kept["vm-0"])
	}
}
