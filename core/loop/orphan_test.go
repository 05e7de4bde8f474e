package loop

import (
	"slices"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// found is what a world's provider has without a record, by id.
func (w *world) found() map[fleet.ProviderInstanceRef]fleet.UnrecordedResource {
	out := map[fleet.ProviderInstanceRef]fleet.UnrecordedResource{}
	for _, u := range w.last.Observations.Unrecorded[local].Resources {
		out[u.ID] = u
	}
	return out
}

// ended is a signed world whose only instance has ended, and what it had been.
func ended(t testing.TB) (*world, fleet.CapacityInstance, fleet.Resource) {
	w := signed(t, 1)
	i := w.only()
	res := w.cloud[i.Key]
	f := demoFleet(0, 4)
	f.Serial = 2
	w.store.fleets["f1"] = f
	w.settle()
	if len(w.live()) != 0 {
		t.Fatalf("%s", w.describe())
	}
	w.calls = nil
	return w, w.store.instances[i.ID], res
}

func TestAnOrphanIsRemovedAfterTwoSightingsAndTheGrace(t *testing.T) {
	for name, orphan := range map[string]func(w *world, ended fleet.Resource) fleet.Resource{
		"an ended instance that came back": func(_ *world, res fleet.Resource) fleet.Resource { return res },
		"one with our proof that the store never had": func(w *world, _ fleet.Resource) fleet.Resource {
			return stranger("vm-lost", tagsOf(w.keys, "demo", "f1", "lost", "lost"))
		},
		"one with the proof of an earlier key": func(w *world, _ fleet.Resource) fleet.Resource {
			w.keys = keyring(2, 1)
			return stranger("vm-lost", tagsOf(keyring(1), "demo", "f1", "lost", "lost"))
		},
		"a volume with our proof": func(w *world, _ fleet.Resource) fleet.Resource {
			volume := stranger("vol-1", tagsOf(w.keys, "demo", "f1", "lost", "lost"))
			volume.Kind = "volume"
			return volume
		},
		"a volume of an ended instance": func(_ *world, res fleet.Resource) fleet.Resource {
			res.ID, res.Kind = "vol-1", "volume"
			return res
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, res := ended(t)
			w.others = []fleet.Resource{orphan(w, res)}
			w.inspect()
			if got := w.found()[w.others[0].ID]; got.Classification != fleet.Orphan ||
				!reason.Is[reason.RemovedAfterGrace](got.Decide) ||
				!got.RemovedAfter.Equal(got.FirstSeen.Add(inventory.DefaultOrphanGrace)) {
				t.Errorf("after one inspection: %+v", got)
			}
			w.work(inventory.DefaultOrphanGrace - time.Minute)
			if len(w.terminations()) != 0 || len(w.live()) != 0 {
				t.Fatalf("before the grace: %s", w.describe())
			}
			w.pass(3*time.Minute, nil)
			if i := w.only(); i.State != fleet.Terminating || i.Fleet != "f1" || w.last.Plan.Fleets[0].Counts.Footprint != 1 {
				t.Fatalf("after the grace: %s", w.describe())
			}
			w.settle()
			if len(w.others) != 0 || len(w.live()) != 0 || len(w.terminations()) != 1 {
				t.Errorf("at the end: %s, %v", w.describe(), w.others)
			}
			w.inspect()
			if len(w.found()) != 0 {
				t.Errorf("still shown: %v", w.found())
			}
		})
	}
}

func TestAnOrphanIsLeftWhileItWasNotSeenWithoutAGap(t *testing.T) {
	tests := []struct {
		name  string
		story func(w *world)
	}{
		{"one inspection", func(w *world) { w.now = w.now.Add(time.Hour); w.step() }},
		{"a list was partial between", func(w *world) {
			w.pass(10*time.Minute, nil)
			w.inspectWith(func(e *Inspected) { e.Inspection.Complete, e.Inspection.Resources = false, nil })
			w.pass(10*time.Minute, nil)
		}},
		{"a list failed between", func(w *world) {
			w.pass(10*time.Minute, nil)
			w.inspectWith(func(e *Inspected) { e.Failure = &Failure{Class: fleet.ErrorTransient, Message: "page 2"} })
			w.pass(10*time.Minute, nil)
		}},
		{"it was missing between", func(w *world) {
			w.pass(10*time.Minute, nil)
			away := w.others
			w.others = nil
			w.inspect()
			w.others = away
			w.pass(10*time.Minute, nil)
		}},
		{"the manager was started again between", func(w *world) {
			w.pass(10*time.Minute, nil)
			w.restart()
			w.pass(10*time.Minute, nil)
		}},
		{"the plugin was started again between", func(w *world) {
			w.pass(10*time.Minute, nil)
			w.step(ProviderDown{Provider: local, Reason: "it died"}, ProviderReady{Provider: local, Facts: w.facts})
			w.pass(10*time.Minute, nil)
		}},
		{"the machine slept", func(w *world) {
			w.now = w.now.Add(10 * time.Hour)
			w.pass(time.Minute, nil)
		}},
		{"the provider is down since", func(w *world) {
			w.pass(10*time.Minute, nil)
			w.step(ProviderDown{Provider: local, Reason: "it died"})
			w.pass(time.Hour, nil)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, _, res := ended(t)
			w.others = []fleet.Resource{res}
			w.inspect()
			tt.story(w)
			if len(w.terminations()) != 0 || len(w.live()) != 0 {
				t.Errorf("%s", w.describe())
			}
		})
	}
}

// inspectWith answers the next inspection after a change to it.
func (w *world) inspectWith(change func(*Inspected)) {
	w.t.Helper()
	for !has[Inspect](w) {
		w.wait()
		w.step()
	}
	take[Inspect](w)
	e := w.look()
	change(&e)
	w.step(e)
}

func TestWhatIsForeignIsShownAndNeverTouched(t *testing.T) {
	other := keyring(9)
	tests := []struct {
		name  string
		named bool
		make  func(w *world, ended fleet.Resource) []fleet.Resource
		want  reason.Detail
	}{
		{
			"no tags at all",
			false,
			func(*world, fleet.Resource) []fleet.Resource { return []fleet.Resource{{ID: "x"}} },
			reason.ProofRejected{Kind: "no_proof"},
		},
		{"our tags and an unknown key, without a proof", false, func(*world, fleet.Resource) []fleet.Resource {
			return []fleet.Resource{
				stranger(
					"x",
					map[string]string{inventory.InstallationTag: "demo", inventory.FleetTag: "f1", inventory.KeyTag: "unknown"},
				),
			}
		}, reason.ProofRejected{Kind: "no_proof"}},
		{"named by an unknown key", true, func(*world, fleet.Resource) []fleet.Resource {
			return []fleet.Resource{stranger("x", map[string]string{inventory.KeyTag: "unknown"})}
		}, reason.KeyUnknown{}},
		{"the tags of an ended instance without the proof", false, func(_ *world, res fleet.Resource) []fleet.Resource {
			delete(res.Tags, inventory.ProofTag)
			return []fleet.Resource{res}
		}, reason.ProofRejected{Kind: "no_proof"}},
		{"a proof by another key", false, func(*world, fleet.Resource) []fleet.Resource {
			return []fleet.Resource{stranger("x", tagsOf(other, "demo", "f1", "lost", "lost"))}
		}, reason.ProofRejected{Kind: "unknown_key"}},
		{"another installation's", false, func(*world, fleet.Resource) []fleet.Resource {
			return []fleet.Resource{stranger("x", tagsOf(other, "other", "f1", "lost", "lost"))}
		}, reason.OtherInstallation{Installation: "other"}},
		{"the name of another installation, proven by our own key", false, func(w *world, _ fleet.Resource) []fleet.Resource {
			return []fleet.Resource{stranger("x", tagsOf(w.keys, "other", "f1", "lost", "lost"))}
		}, reason.OtherInstallation{Installation: "other"}},
		{"our proof on a resource with another key", false, func(w *world, _ fleet.Resource) []fleet.Resource {
			res := stranger("x", tagsOf(w.keys, "demo", "f1", "lost", "lost"))
			res.Key = "found"
			return []fleet.Resource{res}
		}, reason.ProofOfOtherKey{Proven: "lost"}},
		{"our proof, of an instance that had another key", false, func(w *world, res fleet.Resource) []fleet.Resource {
			return []fleet.Resource{stranger("x", tagsOf(w.keys, "demo", "f1", res.Tags[inventory.InstanceTag], "lost"))}
		}, reason.InstanceOfOtherKey{}},
		{"a copy of what an ended instance had", false, func(_ *world, res fleet.Resource) []fleet.Resource {
			res.ID = "x"
			return []fleet.Resource{res}
		}, reason.CopyOfEnded{}},
		{"two copies of what the store never had", false, func(w *world, _ fleet.Resource) []fleet.Resource {
			tags := tagsOf(w.keys, "demo", "f1", "lost", "lost")
			return []fleet.Resource{stranger("x", tags), stranger("y", tags)}
		}, reason.KeyCopied{Resources: 2}},
		{"a volume named by somebody", true, func(*world, fleet.Resource) []fleet.Resource {
			return []fleet.Resource{{ID: "vol", Kind: "volume", BelongsTo: "vm-x"}}
		}, reason.KeyUnknown{}},
		{"the ended instance of another account", true, func(w *world, res fleet.Resource) []fleet.Resource {
			for id, i := range w.store.instances {
				i.Account = "elsewhere"
				w.store.instances[id] = i
			}
			return []fleet.Resource{res}
		}, reason.KeyOfOtherPlace{Account: "elsewhere"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, _, res := ended(t)
			if tt.named {
				w.facts.Ownership = fleet.OwnershipNamed
				w.step(ProviderReady{Provider: local, Facts: w.facts})
			}
			w.others = tt.make(w, res)
			n := len(w.others)
			w.work(3 * time.Hour)
			if len(w.calls) != 0 || len(w.others) != n || len(w.live()) != 0 {
				t.Fatalf("it was touched: %s", w.describe())
			}
			got := w.found()[w.others[0].ID]
			if got.Classification != fleet.Foreign || !matches(got.Reason, tt.want) ||
				got.Decide != reason.Of(reason.LeftAlone{Provider: string(local), Resource: string(got.ID)}) {
				t.Errorf("shown as %+v, want %#v", got, tt.want)
			}
			if all := w.last.Observations.Unrecorded[local]; all.Foreign != n || all.Orphans != 0 {
				t.Errorf("counted %+v", all)
			}
		})
	}
}

// A fleet that was removed and forgotten can have something come back. Nothing is
// guessed about whose it is now.
func TestAnOrphanOfAForgottenFleetIsLeftToAPerson(t *testing.T) {
	w, _, res := ended(t)
	w.remove()
	w.settle()
	if len(w.store.fleets) != 0 {
		t.Fatal("the fleet is still there")
	}
	w.others = []fleet.Resource{res}
	w.work(2 * time.Hour)
	if got := w.found()[res.ID]; got.Classification != fleet.Orphan ||
		got.Decide != reason.Of(reason.LeftAlone{Provider: string(local), Resource: string(res.ID), Undeclared: true}) ||
		len(w.calls) != 0 {
		t.Errorf("%+v, calls %v", got, w.calls)
	}
}

func TestOrphansAreTakenAFewAtATime(t *testing.T) {
	w, _, _ := ended(t)
	for n := range 12 {
		id := string(rune('a' + n))
		w.others = append(w.others, stranger("vm-"+id, tagsOf(w.keys, "demo", "f1", "i"+id, "k"+id)))
	}
	w.inspect()
	w.now = w.now.Add(30 * time.Second) // not a gap
	for w.now.Before(w.found()["vm-a"].RemovedAfter) {
		w.pass(30*time.Second, nil)
	}
	before := len(w.live())
	w.inspect()
	if got := len(w.live()) - before; got > inventory.MaxOrphansPerStep {
		t.Errorf("%d in one step", got)
	}
	w.settle()
	w.work(time.Minute)
	if len(w.others) != 0 {
		t.Errorf("%d are left", len(w.others))
	}
}

func TestWhatBelongsToALiveInstanceIsNoOrphanAndGoesWithIt(t *testing.T) {
	for name, part := range map[string]func(w *world, i fleet.CapacityInstance) fleet.Resource{
		"with its own proof": func(w *world, i fleet.CapacityInstance) fleet.Resource {
			return fleet.Resource{ID: "vol-7", Kind: "volume", Tags: w.cloud[i.Key].Tags}
		},
		"by a name with the key in it": func(_ *world, i fleet.CapacityInstance) fleet.Resource {
			return fleet.Resource{ID: "disk-" + fleet.ProviderInstanceRef(i.Key), Kind: "volume", BelongsTo: i.ProviderInstance}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := signed(t, 1)
			i := w.only()
			volume := part(w, i)
			w.others = []fleet.Resource{volume}
			w.work(2 * time.Hour)
			if len(w.calls) != 0 || len(w.last.Observations.Unrecorded) != 0 {
				t.Fatalf("calls %v, unrecorded %v", w.calls, w.last.Observations.Unrecorded)
			}
			w.remove()
			w.settle()
			want := []string{string(i.Key), string(volume.ID)}
			if got := w.terminations(); !slices.Equal(got, want) || len(w.others) != 0 {
				t.Errorf("terminated %v, want the instance, then what it had: %v", got, want)
			}
		})
	}
}
