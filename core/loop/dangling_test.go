package loop

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

func TestAnInstanceIsNotOverWhileWhatBelongsToItIsThere(t *testing.T) {
	w := signed(t, 1)
	i := w.only()
	w.others = []fleet.Resource{{ID: "vol-7", Kind: "volume", Tags: w.cloud[i.Key].Tags}}
	f := demoFleet(0, 4)
	f.Serial = 2
	w.store.fleets["f1"] = f
	w.inspect()
	delete(w.cloud, i.Key) // it went by itself
	w.pass(10*time.Minute, nil)
	if got := w.store.instances[i.ID]; got.State != fleet.Terminating {
		t.Fatalf("it is %s: %s", got.State, got.Reason)
	}
	w.settle()
	if got := w.terminations(); !slices.Equal(got, []string{"vol-7"}) || len(w.live()) != 0 {
		t.Errorf("terminated %v: %s", got, w.describe())
	}
}

// A dedicated host is paid for longer than its machine lives: it is listed as an asset
// until it can be given back, and then again as what the ended instance had.
func TestKeptAssetDelaysNoEndAndIsLaterAnOrphan(t *testing.T) {
	w := signed(t, 1)
	i := w.only()
	host := fleet.Resource{
		ID:        "h-1",
		Kind:      "dedicated-host",
		Key:       i.Key,
		BelongsTo: i.ProviderInstance,
		Tags:      w.cloud[i.Key].Tags,
	}
	kept := fleet.Resource{ID: "h-1", Kind: fleet.AssetKind, Tags: host.Tags}
	w.others = []fleet.Resource{host}
	f := demoFleet(0, 4)
	f.Serial = 2
	w.store.fleets["f1"] = f
	w.inspect()
	delete(w.cloud, i.Key)
	w.others = []fleet.Resource{kept}
	w.pass(10*time.Minute, nil)
	w.settle()
	w.work(3 * time.Hour)
	if got := w.terminations(); len(got) != 0 || len(w.live()) != 0 || len(w.last.Observations.Unrecorded) != 0 {
		t.Fatalf("terminated %v, unrecorded %v: %s", got, w.last.Observations.Unrecorded, w.describe())
	}
	host.BelongsTo = ""
	w.others = []fleet.Resource{host}
	w.work(time.Hour)
	if got := w.terminations(); !slices.Equal(got, []string{"h-1"}) || len(w.others) != 0 || len(w.live()) != 0 {
		t.Errorf("terminated %v: %s", got, w.describe())
	}
}

func TestWhatOnlyLooksLikePartOfAnInstanceIsLeft(t *testing.T) {
	w := signed(t, 1)
	i := w.only()
	w.others = []fleet.Resource{
		{
			ID:   "disk-" + fleet.ProviderInstanceRef(i.Key),
			Kind: "volume",
		}, // says whose it is by its name alone
		{
			ID:        "vol-1",
			Kind:      "volume",
			BelongsTo: i.ProviderInstance,
		}, // attached by hand
		{
			ID:   "vol-2",
			Kind: "volume",
			Tags: map[string]string{inventory.KeyTag: string(i.Key), inventory.InstanceTag: string(i.ID)},
		}, // no proof
		{
			ID:        "vol-3",
			Kind:      "volume",
			Key:       i.Key,
			BelongsTo: i.ProviderInstance,
			Tags:      map[string]string{inventory.ProofTag: "x"},
		}, // a bad one
		{ID: "free", Kind: "asset"},
	}
	w.remove()
	w.settle()
	w.work(time.Hour)
	if got := w.terminations(); !slices.Equal(got, []string{string(i.Key)}) || len(w.others) != 5 {
		t.Errorf("terminated %v", got)
	}
	if got := w.last.Observations.Unrecorded[local]; got.Foreign != 4 {
		t.Errorf("shown: %+v", got)
	}
}

// Somebody attached it to a machine of his own, say. It was tried first for ever.
func TestOneDanglingResourceThatCannotBeRemovedKeepsNoOtherFromIt(t *testing.T) {
	w := signed(t, 1)
	i := w.only()
	for _, id := range []fleet.ProviderInstanceRef{"vol-1", "vol-2", "vol-3", "vol-4"} {
		w.others = append(w.others, fleet.Resource{ID: id, Kind: "volume", Key: i.Key, Tags: w.cloud[i.Key].Tags})
	}
	w.held = map[fleet.ProviderInstanceRef]string{
		"vol-1": "vol-1 is held by i-77: end that first",
		"vol-3": "vol-3 is locked",
	}
	w.remove()
	w.work(10 * time.Minute)
	if len(w.cloud) != 0 || len(w.others) != 2 || w.others[0].ID != "vol-1" || w.others[1].ID != "vol-3" {
		t.Fatalf("left %v: %s", w.others, w.describe())
	}
	told := func() bool {
		op := w.termination(i.ID)
		return op.State == fleet.OperationRefused && reason.Is[reason.DanglingRemains](op.Reason) &&
			strings.Contains(op.Reason.Text(), "i-77") &&
			strings.Contains(op.Reason.Text(), "vol-3 is locked")
	}
	for tries := 0; !told(); tries++ { // but for the moment of a try
		if tries == 20 {
			t.Fatalf("it isn't told: %s", w.describe())
		}
		w.work(20 * time.Second)
	}
	before := len(w.terminations())
	w.work(time.Hour)
	if more := len(w.terminations()) - before; more < 20 || more > 26 {
		t.Errorf("each of two is tried every five minutes, and in an hour there were %d calls", more)
	}
	w.held = nil // he has let it go
	w.work(10 * time.Minute)
	if len(w.others) != 0 || len(w.live()) != 0 {
		t.Errorf("left %v: %s", w.others, w.describe())
	}
}

// An instance without an id was counted among what others had left, and then each call for
// any instance that hadn't gone went out again at once.
func TestACallForAnInstanceThatHasNoIDYetWaitsLikeEveryOther(t *testing.T) {
	m := newMemory(time.Time{})
	m.noteEffects([]Effect{Terminate{Instance: "i1", Operation: "op"}}, time.Time{}, time.Time{})
	if m.row("i1").removals.Failed(&fleet.Operation{}, time.Time{}) {
		t.Error("it counts as something that was left behind")
	}
}
