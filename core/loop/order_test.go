package loop

import (
	"slices"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// tell gives an order, lets the looks that it waits for happen, and returns what
// became of it.
func (w *world) tell(o Order) OrderOutcome {
	w.t.Helper()
	w.ids++
	o.ID, o.By, o.Until = "order"+string(rune('0'+w.ids)), "ada", w.now.Add(time.Minute)
	w.step(Ordered{o})
	for range 20 {
		for _, got := range w.last.Orders {
			if got.ID == o.ID {
				return got
			}
		}
		if has[Inspect](w) {
			take[Inspect](w)
			w.now = w.now.Add(time.Microsecond)
			w.step(w.look())
			continue
		}
		w.now = w.now.Add(5 * time.Second)
		w.step()
	}
	w.t.Fatalf("the order came to no end: %s", w.describe())
	return OrderOutcome{}
}

func wantRefused[T reason.Detail](t *testing.T, got OrderOutcome) {
	t.Helper()
	if !got.Done.IsZero() || !reason.Is[T](got.Refused) {
		t.Errorf("done %q, refused %q; want it refused as %s", got.Done, got.Refused, reason.CodeOf[T]())
	}
}

func wantDone(t *testing.T, got OrderOutcome) {
	t.Helper()
	if got.Done.IsZero() || !got.Refused.IsZero() {
		t.Errorf("done %q, refused %q", got.Done, got.Refused)
	}
}

// unknown is a world whose only provision has an unknown outcome that a person
// must decide.
func unknown(t *testing.T) (*world, fleet.CapacityInstance, Provision) {
	w, p := begun(t, func(f *fleet.ProviderFacts) {
		f.Idempotency, f.Ownership = fleet.IdempotencyNone, fleet.OwnershipSigned
	})
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, CallOver: true})
	w.inspect()
	w.inspect()
	return w, w.only(), p
}

func TestAPersonSaysThatNothingWasMade(t *testing.T) {
	w, i, _ := unknown(t)
	wantDone(t, w.tell(Order{Kind: ResolveNotCreated, Instance: i.ID}))
	if got := w.store.instances[i.ID]; got.State != fleet.Terminated ||
		w.operation(i.Key).State != fleet.OperationNotCreated {
		t.Errorf("it is %s, its operation %s", got.State, w.operation(i.Key).State)
	}
	w.settle()
	if len(w.live()) != 1 || len(w.cloud) != 1 {
		t.Errorf("another one should be there: %s", w.describe())
	}
}

func TestAPersonSaysWhatWasMade(t *testing.T) {
	w, i, p := unknown(t)
	wantRefused[reason.ResourcesListed](t, w.tell(Order{Kind: ResolveCreated, Instance: i.ID, Resource: "vm-9"}))
	wantRefused[reason.ResourceIDMissing](t, w.tell(Order{Kind: ResolveCreated, Instance: i.ID}))
	w.others = []fleet.Resource{stranger("vm-9", map[string]string{inventory.KeyTag: "another"})}
	wantRefused[reason.ResourceOfOtherKey](t, w.tell(Order{Kind: ResolveCreated, Instance: i.ID, Resource: "vm-9"}))
	w.others = nil
	w.make(p)
	w.hidden[i.Key] = true // as a list that lags
	w.step()
	delete(w.hidden, i.Key)
	wantDone(t, w.tell(Order{Kind: ResolveCreated, Instance: i.ID, Resource: w.cloud[i.Key].ID}))
	w.settle()
	if got := w.only(); got.ID != i.ID || got.State != fleet.Healthy {
		t.Errorf("%s", w.describe())
	}
}

func TestAPersonsWordDoesNotBeatWhatIsSeen(t *testing.T) {
	w := signed(t, 1)
	i := w.only()
	wantRefused[reason.StillListed](t, w.tell(Order{Kind: ResolveNotCreated, Instance: i.ID}))
	wantRefused[reason.StillListed](t, w.tell(Order{Kind: ResolveGone, Instance: i.ID}))
	w.hidden[i.Key] = true
	w.all()
	wantRefused[reason.AgentCalled](t, w.tell(Order{Kind: ResolveGone, Instance: i.ID}))
	wantRefused[reason.SeenBefore](t, w.tell(Order{Kind: ResolveNotCreated, Instance: i.ID}))
	wantRefused[reason.InstanceUnknown](t, w.tell(Order{Kind: ResolveGone, Instance: "nobody"}))
	w.step(ProviderDown{Provider: local, Reason: "it died"})
	wantRefused[reason.NotInspectedInTime](t, w.tell(Order{Kind: ResolveNotCreated, Instance: i.ID}))
	wantRefused[reason.OrderUnknown](t, w.tell(Order{Kind: "dance", Instance: i.ID}))
	if got := w.only(); got.ID != i.ID || len(w.terminations()) != 0 {
		t.Errorf("%s", w.describe())
	}
}

// A provider that is gone for good could never prove anything gone.
func TestAPersonClosesWhatWentWithItsProvider(t *testing.T) {
	w := signed(t, 1)
	i := w.only()
	w.remove()
	w.step(ProviderDown{Provider: local, Reason: "the account is closed"})
	w.pass(10*time.Minute, nil)
	wantDone(t, w.tell(Order{Kind: ResolveGone, Instance: i.ID}))
	if got := w.store.instances[i.ID]; got.Live() {
		t.Errorf("it is %s", got.State)
	}
}

func TestABusyInstanceThatIsReplacedFinishesItsJob(t *testing.T) {
	w := signed(t, 2)
	i := w.live()[0]
	w.beat(i.Runner, func(r *fleet.Runner) { r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseRunning, false })
	wantDone(t, w.tell(Order{Kind: ReplaceInstance, Instance: i.ID}))
	if got := w.store.instances[i.ID]; got.State != fleet.Draining || got.Cause != "operator" ||
		got.Reason != reason.Of(reason.RequestedBy{By: "ada"}) {
		t.Fatalf("it is %s because of %s: %s", got.State, got.Cause, got.Reason)
	}
	wantDone(t, w.tell(Order{Kind: ReplaceInstance, Instance: i.ID})) // once more changes nothing
	w.work(time.Hour)
	if got := w.store.instances[i.ID]; got.State != fleet.Draining || len(w.terminations()) != 0 || len(w.live()) != 3 {
		t.Fatalf("with its job running: %s", w.describe())
	}
	w.beat(i.Runner, func(r *fleet.Runner) { r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseIdle, true })
	w.settle()
	if len(w.live()) != 2 || w.store.instances[i.ID].Live() {
		t.Errorf("%s", w.describe())
	}
}

func TestADrainIsForcedOnlyWhereNoNewJobCanCome(t *testing.T) {
	w := signed(t, 1)
	i := w.only()
	w.running()
	wantRefused[reason.TakesJobs](t, w.tell(Order{Kind: ForceDrain, Instance: i.ID}))
	wantDone(t, w.tell(Order{Kind: DrainInstance, Instance: i.ID}))
	w.running()
	w.pass(10*time.Minute, w.running)
	wantDone(t, w.tell(Order{Kind: ForceDrain, Instance: i.ID}))
	if got := w.store.instances[i.ID]; got.State != fleet.Terminating || got.Cause != "forced" {
		t.Errorf("it is %s because of %s", got.State, got.Cause)
	}
	w.settle()
	if !slices.Contains(w.terminations(), string(i.Key)) {
		t.Errorf("%s", w.describe())
	}
}

func TestAForeignResourceIsRemovedWhenAPersonAdoptsIt(t *testing.T) {
	for name, foreign := range map[string]fleet.Resource{
		"a machine without tags": {ID: "x", State: fleet.ResourceRunning},
		"a machine with our tags": stranger("x",
			map[string]string{inventory.KeyTag: "k", inventory.InstallationTag: "demo"}),
		"a machine of another key id": stranger("x", tagsOf(keyring(9), "demo", "f1", "i", "k")),
		"a volume":                    {ID: "x", Kind: "volume"},
	} {
		t.Run(name, func(t *testing.T) {
			w := signed(t, 1)
			w.others = []fleet.Resource{foreign, {ID: "y", State: fleet.ResourceRunning}}
			got := w.tell(Order{Kind: AdoptResource, Provider: local, Resource: "x", Fleet: "fleet.demo"})
			wantDone(t, got)
			if i := w.store.instances[got.Instance]; i.State != fleet.Terminating || i.Adopted != "ada" ||
				w.last.Plan.Fleets[0].Counts.Footprint != 2 {
				t.Fatalf("on the books as %+v", i)
			}
			w.settle()
			if got := w.terminations(); !slices.Equal(got, []string{"x"}) || len(w.others) != 1 || len(w.live()) != 1 {
				t.Errorf("terminated %v: %s", got, w.describe())
			}
			if w.last.Observations.Unrecorded[local].Foreign != 1 {
				t.Errorf("shown: %+v", w.last.Observations.Unrecorded)
			}
		})
	}
}

func TestACopyIsAdoptedAndTheGenuineOneStays(t *testing.T) {
	w := signed(t, 1)
	i := w.only()
	copied := w.cloud[i.Key]
	copied.ID = "vm-copy"
	w.twins = []fleet.Resource{copied}
	w.inspect()
	wantDone(t, w.tell(Order{Kind: AdoptResource, Provider: local, Resource: "vm-copy", Fleet: "fleet.demo"}))
	w.settle()
	w.inspect()
	if got := w.terminations(); !slices.Equal(got, []string{"vm-copy"}) || w.only().ID != i.ID ||
		!w.only().Conflict.IsZero() {
		t.Errorf("terminated %v: %s", got, w.describe())
	}
}

func TestAnOrphanIsAdoptedWithoutItsGrace(t *testing.T) {
	w, i, res := ended(t)
	w.others = []fleet.Resource{res}
	got := w.tell(Order{Kind: AdoptResource, Provider: local, Resource: res.ID, Fleet: "fleet.demo"})
	wantDone(t, got)
	if got.Instance != i.ID || w.store.instances[i.ID].State != fleet.Terminating {
		t.Errorf("its own row should be back: %+v, %s", got, w.describe())
	}
	w.settle()
	if len(w.others) != 0 || len(w.live()) != 0 {
		t.Errorf("%s", w.describe())
	}
}

func TestWhatIsSomebodysIsNotAdopted(t *testing.T) {
	w := signed(t, 1)
	i := w.only()
	w.others = []fleet.Resource{
		{ID: "vol-7", Kind: "volume", Tags: w.cloud[i.Key].Tags},
		{ID: "twice"}, {ID: "twice"},
	}
	adopt := func(id fleet.ProviderInstanceRef, f fleet.FleetAddress) OrderOutcome {
		return w.tell(Order{Kind: AdoptResource, Provider: local, Resource: id, Fleet: f})
	}
	wantRefused[reason.ResourceOfInstance](t, adopt(i.ProviderInstance, "fleet.demo"))
	wantRefused[reason.ResourceBelongsTo](t, adopt("vol-7", "fleet.demo"))
	wantRefused[reason.ResourcesListed](t, adopt("twice", "fleet.demo"))
	wantRefused[reason.ResourcesListed](t, adopt("nowhere", "fleet.demo"))
	wantRefused[reason.ResourcesListed](t, adopt("", "fleet.demo"))
	wantRefused[reason.FleetUnknown](t, adopt("twice", "fleet.none"))
	w.step(ProviderDown{Provider: local, Reason: "it died"})
	wantRefused[reason.NotInspectedInTime](t, adopt("twice", "fleet.demo"))
	if len(w.live()) != 1 || len(w.calls) != 0 {
		t.Errorf("%s", w.describe())
	}
}

func TestAnOrderIsCarriedOutOnceThoughItsCommitFailed(t *testing.T) {
	w := signed(t, 1)
	w.others = []fleet.Resource{{ID: "x", State: fleet.ResourceRunning}}
	w.inspect()
	w.step(
		Ordered{
			Order{
				ID:       "o1",
				Kind:     AdoptResource,
				Provider: local,
				Resource: "x",
				Fleet:    "fleet.demo",
				By:       "ada",
				Until:    w.now.Add(time.Hour),
			},
		},
	)
	take[Inspect](w)
	seen := w.look()
	w.store.fail = errFenced
	w.now = w.now.Add(time.Second)
	if res, err := w.loop.Step(t.Context(), w.now, []Event{seen}); err == nil || len(res.Orders) != 0 {
		t.Fatalf("a step that can't commit: %v, %v", res.Orders, err)
	}
	w.store.fail = nil
	if w.step(); len(w.last.Orders) != 1 || w.last.Orders[0].Done.IsZero() {
		t.Errorf("orders %v", w.last.Orders)
	}
	if w.step(); len(w.last.Orders) != 0 {
		t.Errorf("carried out once more: %v", w.last.Orders)
	}
	w.settle()
	if got := w.terminations(); !slices.Equal(got, []string{"x"}) {
		t.Errorf("terminated %v", got)
	}
}

func TestOrderedDrainIsNotTakenBack(t *testing.T) {
	w, i := busyRunner(t)
	draining := w.store.instances[i.ID]
	draining.State, draining.Drain, draining.Cause = fleet.Draining, fleet.Cordoned, string(lifecycle.ForScaleDown)
	w.store.instances[i.ID] = draining
	wantDone(t, w.tell(Order{Kind: DrainInstance, Instance: i.ID}))
	w.goOn(10 * time.Second)
	if got := w.store.instances[i.ID]; got.State != fleet.Draining || got.Cause != string(lifecycle.ForOperator) {
		t.Errorf("it is %s for %s: %s", got.State, got.Cause, got.Reason)
	}
}
