package loop

import (
	"slices"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// shownAsEnded is a world of n runners whose lists may lag for ten minutes.
func shownAsEnded(t *testing.T, n int) *world {
	w := signed(t, n)
	w.facts.ListSettle = 10 * time.Minute
	w.step(ProviderReady{Provider: local, Facts: w.facts})
	f := demoFleet(0, 2*n)
	f.Serial = 2
	w.store.fleets["f1"] = f
	w.all()
	w.inspect()
	return w
}

// endAtProvider has the provider show a resource as ended, as EC2 does for an hour.
func endAtProvider(w *world, key fleet.OperationID) {
	w.change(key, func(r *fleet.Resource) { r.State, r.Detail = fleet.ResourceGone, "User initiated" })
}

func TestAHostThatItsProviderShowsAsEndedIsGoneAtOnce(t *testing.T) {
	w := shownAsEnded(t, 1)
	i := w.only()
	endAtProvider(w, i.Key)
	w.inspect()
	if got := w.store.instances[i.ID]; got.State != fleet.Terminated || !reason.Is[reason.ResourceEnded](got.Reason) {
		t.Errorf("it is %s: %s %s", got.State, got.Reason, got.Conflict)
	}
}

// Over half of the known at once is believed only late where a list lacks them. That
// somebody ended them is believed where it says so.
func TestHostsThatTheirProviderShowsAsEndedHaveNotVanished(t *testing.T) {
	w := shownAsEnded(t, 4)
	for _, i := range w.live() {
		endAtProvider(w, i.Key)
	}
	w.inspect()
	if len(w.live()) != 0 {
		t.Errorf("%s", w.describe())
	}
}

func TestThatAnotherHostHasEndedProvesNothing(t *testing.T) {
	for name, spoil := range map[string]func(*fleet.Resource){
		"another of its key":          func(r *fleet.Resource) { r.ID = "vm-copy" },
		"its own under another's key": func(r *fleet.Resource) { r.Key = "another" },
		"a volume of its id":          func(r *fleet.Resource) { r.Kind = "volume" },
	} {
		t.Run(name, func(t *testing.T) {
			w := shownAsEnded(t, 1)
			i := w.only()
			endAtProvider(w, i.Key)
			w.change(i.Key, spoil)
			w.inspect()
			if got := w.store.instances[i.ID]; !got.Live() {
				t.Errorf("it is %s: %s", got.State, got.Reason)
			}
		})
	}
}

func TestAListThatIsNotCompleteEndsNothing(t *testing.T) {
	w := shownAsEnded(t, 1)
	i := w.only()
	endAtProvider(w, i.Key)
	half := w.look()
	half.Inspection.Complete = false
	w.step(half)
	if got := w.store.instances[i.ID]; !got.Live() {
		t.Errorf("it is %s, and what belongs to it may not have been listed", got.State)
	}
}

func TestWhatAnEndedHostLeftIsRemovedAtOnceAndKeepsItOnTheBooks(t *testing.T) {
	w := shownAsEnded(t, 1)
	i := w.only()
	w.others = []fleet.Resource{{ID: "vol-7", Kind: "volume", Key: i.Key, Tags: w.cloud[i.Key].Tags}}
	endAtProvider(w, i.Key)
	w.inspect()
	if got := w.store.instances[i.ID]; got.State != fleet.Terminating {
		t.Fatalf("it is %s: %s", got.State, got.Reason)
	}
	w.work(3 * time.Minute) // less than lists may lag
	if got := w.terminations(); !slices.Equal(got, []string{"vol-7"}) || len(w.live()) != 0 {
		t.Errorf("terminated %v: %s", got, w.describe())
	}
}
