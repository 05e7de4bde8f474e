package loop

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// signed is a world whose provider stores tags and whose fleet has n runners.
func signed(t testing.TB, n int) *world {
	w := newWorld(t, demoFleet(n, 2*n+1))
	w.facts.Ownership = fleet.OwnershipSigned
	w.restart()
	w.settle()
	w.calls = nil
	return w
}

// change changes the one resource of a key, as somebody at the provider could.
func (w *world) change(key fleet.OperationID, how func(*fleet.Resource)) {
	res := w.cloud[key]
	res.Tags = maps.Clone(res.Tags)
	how(&res)
	w.cloud[key] = res
}

// stranger is a resource with tags of ours as far as a test sets them.
func stranger(id string, tags map[string]string) fleet.Resource {
	return fleet.Resource{
		ID:    fleet.ProviderInstanceRef(id),
		Key:   fleet.OperationID(tags[inventory.KeyTag]),
		State: fleet.ResourceRunning,
		Tags:  tags,
	}
}

// tagsOf are tags with a proof of their own by the keys.
func tagsOf(keys ownership.Keyring, installation, fleetID, instance, key string) map[string]string {
	tags := map[string]string{
		inventory.InstallationTag: installation,
		inventory.FleetTag:        fleetID,
		inventory.InstanceTag:     instance,
		inventory.KeyTag:          key,
	}
	tags[inventory.ProofTag], _ = keys.Prove(inventory.ClaimIn(tags))
	return tags
}

// terminations are the terminate calls that went out.
func (w *world) terminations() []string {
	var out []string
	for _, c := range w.calls {
		if resource, ok := strings.CutPrefix(c, "terminate "); ok {
			out = append(out, resource)
		}
	}
	return out
}

// work lets time pass with everything running as it should: due effects are
// carried out and agents do what they are told.
func (w *world) work(d time.Duration) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		var events []Event
		for _, e := range w.effects {
			events = append(events, w.run(e))
		}
		w.effects = nil
		w.all()
		w.step(events...)
		if len(w.effects) == 0 {
			w.now = w.now.Add(min(50*time.Second, end.Sub(w.now))) // less than what counts as a gap
		}
	}
}

func TestASignedProviderIsUsedAndItsResourcesAreRemoved(t *testing.T) {
	w := signed(t, 2)
	for _, res := range w.cloud {
		if err := w.keys.Verify(res.Tags[inventory.ProofTag], inventory.ClaimIn(res.Tags)); err != nil {
			t.Errorf("the tags of a new resource: %v", err)
		}
	}
	w.remove()
	w.settle()
	if len(w.cloud) != 0 || len(w.terminations()) != 2 {
		t.Errorf("%s", w.describe())
	}
}

func TestWhatIsNotProvenOursIsHeldAndNeverDeleted(t *testing.T) {
	other := keyring(9)
	tests := []struct {
		name  string
		named bool // the provider names by key and doesn't store proofs for sure
		spoil func(w *world, a, b fleet.OperationID)
		want  reason.Detail
	}{
		{"its proof is gone", false, func(w *world, a, _ fleet.OperationID) {
			w.change(a, func(r *fleet.Resource) { delete(r.Tags, inventory.ProofTag) })
		}, reason.ProofRejected{Kind: "no_proof"}},
		{"its tags are gone", false, func(w *world, a, _ fleet.OperationID) {
			w.change(a, func(r *fleet.Resource) { r.Tags = nil })
		}, reason.TagsDiffer{}},
		{"its proof is not a proof", false, func(w *world, a, _ fleet.OperationID) {
			w.change(a, func(r *fleet.Resource) { r.Tags[inventory.ProofTag] = "by-hand" })
		}, reason.ProofRejected{Kind: "malformed"}},
		{"its proof is by another installation's key", false, func(w *world, a, _ fleet.OperationID) {
			w.change(a, func(r *fleet.Resource) { r.Tags[inventory.ProofTag], _ = other.Prove(inventory.ClaimIn(r.Tags)) })
		}, reason.ProofRejected{Kind: "unknown_key"}},
		{"its tags are those of another instance", false, func(w *world, a, b fleet.OperationID) {
			w.change(a, func(r *fleet.Resource) { r.Tags = w.cloud[b].Tags })
		}, reason.TagContradicts{Tag: inventory.InstanceTag}},
		{"its proof is that of another instance", false, func(w *world, a, b fleet.OperationID) {
			w.change(a, func(r *fleet.Resource) { r.Tags[inventory.ProofTag] = w.cloud[b].Tags[inventory.ProofTag] })
		}, reason.ProofRejected{Kind: "another_claim"}},
		{"its fleet's tag was changed", false, func(w *world, a, _ fleet.OperationID) {
			w.change(a, func(r *fleet.Resource) { r.Tags[inventory.FleetTag] = "f2" })
		}, reason.TagContradicts{Tag: inventory.FleetTag}},
		{"it is another installation's, with a good proof there", false, func(w *world, a, _ fleet.OperationID) {
			w.change(a, func(r *fleet.Resource) {
				r.Tags = tagsOf(other, "other", "f1", r.Tags[inventory.InstanceTag], string(a))
			})
		}, reason.TagContradicts{Tag: inventory.InstallationTag}},
		{"a named one has the tags of another instance", true, func(w *world, a, b fleet.OperationID) {
			w.change(a, func(r *fleet.Resource) { r.Tags = w.cloud[b].Tags })
		}, reason.TagContradicts{Tag: inventory.InstanceTag}},
		{"its recorded id is listed under another key", false, func(w *world, a, _ fleet.OperationID) {
			w.change(a, func(r *fleet.Resource) { r.Key = "somebody-elses" })
		}, reason.KeyChanged{}},
		{"another's recorded id is listed under its key", true, func(w *world, a, b fleet.OperationID) {
			w.change(a, func(r *fleet.Resource) { r.ID = w.cloud[b].ID })
		}, reason.KeysContested{}},
		{"another id is listed under its key", true, func(w *world, a, _ fleet.OperationID) {
			w.change(a, func(r *fleet.Resource) { r.ID = "renamed" })
		}, reason.ResourceMismatch{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := signed(t, 2)
			if tt.named {
				w.facts.Ownership = fleet.OwnershipNamed
				w.step(ProviderReady{Provider: local, Facts: w.facts})
			}
			live := w.live()
			i, other := live[0], live[1]
			genuine := w.cloud[i.Key]
			tt.spoil(w, i.Key, other.Key)
			w.remove()
			w.work(2 * time.Hour)
			if slices.Contains(w.terminations(), string(i.Key)) || slices.Contains(w.terminations(), string(w.cloud[i.Key].ID)) {
				t.Fatalf("it was deleted: %v", w.calls)
			}
			if got := w.store.instances[i.ID]; !got.Live() || !matches(doubtOf(got.Conflict), tt.want) {
				t.Errorf("it is %s (%s): %q, want %#v", got.State, got.Reason, got.Conflict, tt.want)
			}
			w.cloud[i.Key] = genuine // a person has set it right
			w.settle()
			if len(w.cloud) != 0 {
				t.Errorf("set right, and not removed: %s", w.describe())
			}
		})
	}
}

func TestAProofByAnEarlierKeyStillVerifies(t *testing.T) {
	w := signed(t, 2)
	w.keys = keyring(2, 1)
	w.store.fleets["f1"] = func() fleet.ManagedFleet { f := demoFleet(3, 5); f.Serial = 2; return f }()
	w.settle()
	w.remove()
	w.settle()
	if len(w.cloud) != 0 {
		t.Errorf("after a rotation: %s", w.describe())
	}
}

func TestALostKeyDisownsEverythingAndDeletesNothing(t *testing.T) {
	w := signed(t, 2)
	w.keys = keyring(3)
	w.remove()
	w.work(2 * time.Hour)
	if len(w.terminations()) != 0 || len(w.cloud) != 2 {
		t.Errorf("%s", w.describe())
	}
}

func TestARequestSentAgainAfterARotationKeepsItsBytes(t *testing.T) {
	w, p := begun(t, nil)
	w.keys = keyring(2, 1)
	w.step(ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionUnknown, CallOver: true})
	w.inspect()
	w.now = w.now.Add(2 * time.Second)
	w.step()
	if again := take[Provision](
		w,
	); string(again.Operation.Request) != string(p.Operation.Request) ||
		again.Intent.Tags[inventory.ProofTag] == "" {
		t.Errorf("sent first:\n%s\nthen:\n%s", p.Operation.Request, again.Operation.Request)
	}
}

func TestAStoreFromBeforeProofsKeepsWorkingWhereTheKeyIsTheName(t *testing.T) {
	w := newWorld(t, demoFleet(2, 4))
	w.settle()
	for key := range w.cloud {
		w.change(key, func(r *fleet.Resource) { delete(r.Tags, inventory.ProofTag) })
	}
	w.restart()
	w.settle()
	if len(w.live()) != 2 || !w.live()[0].Conflict.IsZero() {
		t.Fatalf("%s", w.describe())
	}
	w.remove()
	w.settle()
	if len(w.cloud) != 0 {
		t.Errorf("%s", w.describe())
	}
}

func TestACopyIsNotForgottenBecauseAListLacksIt(t *testing.T) {
	w := signed(t, 1)
	i := w.only()
	copied := w.cloud[i.Key]
	copied.ID = "vm-copy"
	w.twins = []fleet.Resource{copied}
	w.inspect()
	whole := w.look()
	half := whole
	half.Inspection.Complete = false
	half.Inspection.Resources = whole.Inspection.Resources[:1]
	w.step(half)
	if got := w.only(); !reason.Is[reason.KeyShared](got.Conflict) {
		t.Errorf("after half a list: %q", got.Conflict)
	}
	w.remove()
	w.work(time.Hour)
	if len(w.terminations()) != 0 {
		t.Fatalf("one of two was deleted: %v", w.calls)
	}
	w.twins = nil
	w.settle()
	if len(w.live()) != 0 || len(w.cloud) != 0 {
		t.Errorf("the copy is gone: %s", w.describe())
	}
}

func TestTagsSayWhomADedicatedFleetIsFor(t *testing.T) {
	for name, want := range map[string]string{"acme": "acme", "Acme/Web App": "acme-web-app-"} {
		f := demoFleet(1, 1)
		f.Scope.Project = name
		w := newWorld(t, f)
		got := take[Provision](w).Intent.Tags
		if !strings.HasPrefix(got["forgeyard-project"], want) || got["forgeyard-tenant"] != "" {
			t.Errorf("tags %v, want the project %s", got, want)
		}
		for tag, value := range got {
			if !regexp.MustCompile(`^[a-z0-9-]{1,63}$`).MatchString(value) {
				t.Errorf("%s: %q is not a tag value", tag, value)
			}
		}
	}
}

// A plugin that claims no evidence has nothing made and nothing deleted.
func TestALevelThatCannotBeCheckedDeletesNothing(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	w.calls = nil
	w.facts.Ownership = fleet.OwnershipNone
	w.step(ProviderReady{Provider: local, Facts: w.facts})
	w.remove()
	w.work(time.Hour)
	if i := w.only(); len(w.terminations()) != 0 || !reason.Is[reason.OwnershipDoubtful](i.Conflict) {
		t.Errorf("%s", w.describe())
	}
}
