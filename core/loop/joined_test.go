package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// lab is a world whose one provider has an inventory, and whose fleet's hosts are
// joined by a person.
type lab struct {
	*world
	assets []fleet.Asset
	claims []fleet.AssetClaim
	// pending is what claims ask for, until the loop writes it.
	pending snapshot.State
}

func newLab(t *testing.T, hosts ...string) *lab {
	f := demoFleet(1, 3)
	f.Joined = true
	l := &lab{world: newWorld(t, f)}
	for _, h := range hosts {
		l.assets = append(l.assets, fleet.Asset{ID: h, Platform: f.Class.Platform})
	}
	l.facts = fleet.ProviderFacts{
		Plugin:      "manual",
		Idempotency: fleet.IdempotencyByAsset,
		Ownership:   fleet.OwnershipAssigned,
	}
	l.begin()
	return l
}

// begin is a new manager process.
func (l *lab) begin() {
	l.effects = nil
	l.loop = New(l, enrollment{}, l.settings())
	l.step(ProviderReady{Provider: local, Facts: l.facts})
}

func (l *lab) settings() Settings {
	return Settings{Installation: "demo", AgentVersion: "0.1.0", Started: l.now,
		NewID: func(time.Time) (string, error) { l.ids++; return fmt.Sprintf("id%06d", l.ids), nil }}
}

// Recall, Load and Commit are the store's, with its claims.
func (l *lab) Recall(
	ctx context.Context,
	keys []fleet.OperationID,
	ids []fleet.CapacityInstanceID,
) ([]store.Recalled, error) {
	return l.store.Recall(ctx, keys, ids)
}

func (l *lab) Load(ctx context.Context) (snapshot.State, error) {
	s, err := l.store.Load(ctx)
	s.Providers = []fleet.Provider{{Address: local, Assets: l.assets}}
	s.Claims = slices.Clone(l.claims)
	s.Instances = append(s.Instances, l.pending.Instances...)
	s.Operations = append(s.Operations, l.pending.Operations...)
	s.Unwritten = slices.Clone(l.pending.Unwritten)
	return s, err
}

func (l *lab) Commit(ctx context.Context, c store.Change) error {
	for _, i := range c.Instances {
		if !i.Live() {
			l.claims = slices.DeleteFunc(l.claims, func(a fleet.AssetClaim) bool { return a.Instance == i.ID })
		}
	}
	if err := l.store.Commit(ctx, c); err != nil {
		return err
	}
	if len(c.Instances) > 0 {
		l.pending = snapshot.State{}
	}
	return nil
}

// claim is `token create --join` for a host.
func (l *lab) claim(host string) {
	l.t.Helper()
	f := l.store.fleets["f1"]
	i, op, err := inventory.RequestAsset(
		l.settings().NewID,
		l.settings().AgentVersion,
		l.now,
		f,
		fleet.Asset{ID: host},
		fleet.BootstrapIntent{},
		reason.Plain("ada asked for it"),
	)
	if err != nil {
		l.t.Fatal(err)
	}
	l.pending.Instances, l.pending.Operations = append(l.pending.Instances, i), append(l.pending.Operations, op)
	l.pending.Unwritten = append(l.pending.Unwritten, i.ID)
	l.claims = append(
		l.claims,
		fleet.AssetClaim{Provider: local, Asset: host, Instance: i.ID, Expires: l.now.Add(fleet.JoinTokenLife)},
	)
}

// serve answers what waits as the plugin does: it lists its assets, says that a
// claimed host is there, and forgets a released one.
func (l *lab) serve() {
	l.t.Helper()
	var events []Event
	for _, e := range l.effects {
		switch e := e.(type) {
		case Inspect:
			l.now = l.now.Add(time.Microsecond)
			seen := Inspected{Provider: local, Began: l.now, Inspection: fleet.Inspection{Complete: true}}
			for _, a := range l.assets {
				seen.Inspection.Resources = append(
					seen.Inspection.Resources,
					fleet.Resource{ID: fleet.ProviderInstanceRef(a.ID), Kind: fleet.AssetKind, State: fleet.ResourceRunning},
				)
			}
			events = append(events, seen)
		case Provision:
			events = append(events, ProvisionAnswered{
				Operation: e.Operation.ID,
				Outcome:   fleet.ProvisionExisted,
				CallOver:  true,
				Resource: fleet.Resource{
					ID:    fleet.ProviderInstanceRef(e.Intent.Asset),
					Key:   e.Operation.ID,
					State: fleet.ResourceRunning,
				},
			})
		case Terminate:
			events = append(events, TerminateAnswered{Operation: e.Operation, Outcome: fleet.TerminateGone})
		}
	}
	l.effects = nil
	l.step(events...)
}

// goOn lets the loop and its plugin run, and the agents beat, for a time.
func (l *lab) goOn(d time.Duration, agents func()) {
	l.t.Helper()
	for end := l.now.Add(d); l.now.Before(end); {
		l.now = l.now.Add(min(20*time.Second, end.Sub(l.now)))
		if agents != nil {
			agents()
		}
		l.serve()
	}
}

func (l *lab) beats() {
	for _, i := range l.live() {
		if i.Runner != "" {
			l.beat(i.Runner, func(r *fleet.Runner) { l.hear(r, i) })
		}
	}
}

func TestAHostOfAnInventoryIsNotProvisionedByTheLoop(t *testing.T) {
	l := newLab(t, "a", "b")
	l.goOn(10*time.Minute, nil)
	if len(l.calls) > 0 || len(l.live()) > 0 || !l.last.Settled {
		t.Errorf("min = 1 made it do %v; settled %t", l.calls, l.last.Settled)
	}
}

func TestAClaimedHostMayTakeADayToBeJoined(t *testing.T) {
	l := newLab(t, "a", "b")
	l.claim("a")
	l.goOn(23*time.Hour, nil)
	i := l.only()
	if i.State != fleet.Bootstrapping || i.ProviderInstance != "a" || !i.Conflict.IsZero() || !l.last.Settled {
		t.Fatalf("after 23 hours, settled %t: %s", l.last.Settled, l.describe())
	}
	if len(l.calls) != 1 {
		t.Errorf("the plugin was told %v", l.calls)
	}
	l.enroll(i)
	l.goOn(time.Minute, l.beats)
	if i = l.only(); i.State != fleet.Healthy {
		t.Errorf("joined in time: %s", l.describe())
	}
	l.goOn(2*time.Hour, l.beats)
	if i = l.only(); i.State != fleet.Healthy || len(l.claims) != 1 {
		t.Errorf("past the token's time: %s", l.describe())
	}
}

func TestTheNextStepWritesWhatAClaimAsksFor(t *testing.T) {
	for name, between := range map[string]func(*lab){
		"the step after the claim":  func(*lab) {},
		"a step that isn't stored":  func(l *lab) { l.fails() },
		"the next manager":          func(l *lab) { l.begin() },
		"a manager that is killed":  func(l *lab) { l.fails(); l.begin() },
		"a manager of the next day": func(l *lab) { l.now = l.now.Add(20 * time.Hour); l.begin() },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "a")
			l.goOn(time.Minute, nil)
			l.claim("a")
			asked := l.pending
			if len(l.store.instances) != 0 {
				t.Fatal("the claim wrote an instance")
			}
			between(l)
			l.goOn(time.Minute, nil)
			i := l.only()
			if i.ID != asked.Unwritten[0] || i.Key != asked.Operations[0].ID || i.State != fleet.Bootstrapping {
				t.Errorf("%s: want %s with the key %s", l.describe(), asked.Unwritten[0], asked.Operations[0].ID)
			}
			if len(l.calls) != 1 {
				t.Errorf("the plugin was told %v", l.calls)
			}
		})
	}
}

// fails runs a step whose commit fails.
func (l *lab) fails() {
	l.t.Helper()
	l.store.fail = errors.New("disk full")
	if _, err := l.loop.Step(l.t.Context(), l.now, nil); err == nil {
		l.t.Error("the step was stored")
	}
	l.store.fail = nil
}

func TestAClaimThatExpiresBeforeItIsTakenUpIsReleased(t *testing.T) {
	l := newLab(t, "a")
	l.claim("a")
	l.now = l.now.Add(fleet.JoinTokenLife + time.Minute) // no manager ran meanwhile
	l.begin()
	l.goOn(time.Minute, nil)
	if len(l.live()) > 0 || len(l.claims) > 0 || len(l.calls) > 0 {
		t.Errorf("%s, claims %v, calls %v", l.describe(), l.claims, l.calls)
	}
}

func TestAClaimThatNobodyUsedExpires(t *testing.T) {
	l := newLab(t, "a")
	l.claim("a")
	l.goOn(time.Minute, nil)
	l.now = l.now.Add(24 * time.Hour) // no manager ran meanwhile
	l.begin()
	l.goOn(time.Minute, nil)
	if len(l.live()) > 0 || len(l.claims) > 0 {
		t.Fatalf("the host isn't free: %s", l.describe())
	}
	if len(l.last.Holds()) > 0 {
		t.Errorf("that no one came holds the fleet: %v", l.last.Holds())
	}
	l.claim("a")
	l.goOn(time.Minute, nil)
	if l.only().State != fleet.Bootstrapping {
		t.Errorf("claimed again: %s", l.describe())
	}
}

func TestAnAgentThatIsFasterThanThePluginIsTaken(t *testing.T) {
	l := newLab(t, "a")
	l.claim("a")
	l.step()
	l.enroll(l.only())
	l.goOn(time.Minute, l.beats)
	if l.only().State != fleet.Healthy {
		t.Error(l.describe())
	}
}

func TestALostAnswerAboutAClaimedHostIsFoundByItsClaim(t *testing.T) {
	l := newLab(t, "a", "b")
	l.claim("b")
	l.step()
	take[Provision](l.world)
	l.begin() // the manager died before the answer
	l.goOn(time.Minute, nil)
	if i := l.only(); i.State != fleet.Bootstrapping || i.ProviderInstance != "b" ||
		l.operation(i.Key).State != fleet.OperationSucceeded {
		t.Error(l.describe())
	}
}

func TestAReleasedHostIsDrainedProvenIdleAndFree(t *testing.T) {
	l := newLab(t, "a", "b")
	l.claim("a")
	l.step()
	l.enroll(l.only())
	l.goOn(time.Minute, l.beats)
	f := l.store.fleets["f1"]
	f.Instance = []byte(`{"hosts":["b"]}`) // the file gives it away
	l.store.fleets["f1"] = f
	l.beat(l.only().Runner, func(r *fleet.Runner) { r.Report.Phase = fleet.PhaseRunning })
	l.goOn(time.Hour, func() { l.beat(l.only().Runner, func(*fleet.Runner) {}) })
	if i := l.only(); i.State != fleet.Draining || len(l.claims) != 1 {
		t.Fatalf("while its job runs: %s", l.describe())
	}
	l.stop(l.only())
	l.goOn(time.Minute, nil)
	if len(l.live()) > 0 || len(l.claims) > 0 {
		t.Fatalf("after its job: %s", l.describe())
	}
	if last := l.calls[len(l.calls)-1]; !strings.HasPrefix(last, "terminate") {
		t.Errorf("the plugin wasn't told: %v", l.calls)
	}
}

func TestAHostThatLeftTheInventoryIsReleasedAfterItsJob(t *testing.T) {
	l := newLab(t, "a", "b")
	l.claim("a")
	l.step()
	l.enroll(l.only())
	l.goOn(time.Minute, l.beats)
	l.assets = l.assets[1:]
	l.goOn(time.Minute, l.beats)
	if i := l.only(); i.State != fleet.Draining {
		t.Fatalf("its block is gone: %s", l.describe())
	}
	l.stop(l.only())
	l.goOn(time.Minute, nil)
	if len(l.live()) > 0 || len(l.claims) > 0 {
		t.Errorf("after its job: %s", l.describe())
	}
}

func TestASilentHostIsReleasedBySilenceAlone(t *testing.T) {
	l := newLab(t, "a")
	l.claim("a")
	l.step()
	l.enroll(l.only())
	l.goOn(time.Minute, l.beats)
	l.goOn(time.Hour, nil)
	if i := l.only(); i.State != fleet.Quarantined {
		t.Fatalf("silent for an hour: %s", l.describe())
	}
	l.goOn(25*time.Hour, nil)
	if len(l.live()) > 0 || len(l.claims) > 0 {
		t.Errorf("silent for heartbeat and quarantine: %s", l.describe())
	}
}

// Two installations, or a store that was restored, may know of a claim that this
// row doesn't have.
func TestUnclaimedAssetIsNeitherRequestedNorReleased(t *testing.T) {
	l := newLab(t, "a")
	l.claim("a")
	l.claims = nil
	l.goOn(time.Minute, nil)
	if i := l.only(); len(l.calls) > 0 || !reason.Is[reason.HostUnclaimed](i.Conflict) {
		t.Errorf("without a claim: %s", l.describe())
	}
}
