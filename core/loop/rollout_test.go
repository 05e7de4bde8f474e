package loop

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

func imageOf(digit string) fleet.Image {
	return fleet.Image{
		Name:      "base",
		Digest:    "sha256:" + strings.Repeat(digit, 64),
		Bootstrap: "file",
		Ref:       "base-" + digit,
	}
}

// reimage has the file ask for another image.
func (w *world) reimage(digit string) {
	f := w.store.fleets["f1"]
	f.Image, f.Serial = imageOf(digit), f.Serial+1
	w.store.fleets["f1"] = f
}

// madeFrom counts the live instances of an image.
func (w *world) madeFrom(digit string) (n int) {
	for _, i := range w.live() {
		if i.ImageDigest == imageOf(digit).Digest {
			n++
		}
	}
	return n
}

// runFor lets hosts of all images but one go their way for a time.
func (w *world) runFor(d time.Duration, dead string) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		var events []Event
		for _, e := range w.effects {
			events = append(events, w.run(e))
		}
		w.effects = nil
		for _, i := range w.live() {
			if i.ImageDigest != imageOf(dead).Digest {
				w.behave(i)
			}
		}
		w.now = w.now.Add(5 * time.Second)
		w.step(events...)
	}
}

// An image whose hosts never enroll came over the whole fleet, one host after the
// other, and left it without a runner.
func TestImageThatNeverEnrollsIsHaltedAtItsCanary(t *testing.T) {
	f := demoFleet(3, 5)
	f.Image, f.Rollout = imageOf("a"), fleet.RolloutPolicy{Canary: 1, Soak: time.Minute, Surge: 1}
	w := newWorld(t, f)
	w.settle()
	w.reimage("b")
	w.runFor(time.Minute, "b")
	if w.madeFrom("a") != 3 || w.madeFrom("b") != 1 {
		t.Fatalf("%d old and %d new, want 3 and a canary: %s", w.madeFrom("a"), w.madeFrom("b"), w.describe())
	}
	w.restart() // what it is on trial for is stored
	w.runFor(time.Hour, "b")
	halted := w.store.rollouts["f1"].Halted
	if w.madeFrom("a") != 3 || w.madeFrom("b") != 0 || halted == nil ||
		!reason.Is[reason.NewInstanceFailed](halted.Reason) {
		t.Fatalf("%d old and %d new, halted %+v: %s", w.madeFrom("a"), w.madeFrom("b"), halted, w.describe())
	}
	var made int
	for _, i := range w.store.instances {
		if i.ImageDigest == imageOf("b").Digest {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d were made of an image that never came up, want 1", made)
	}

	// Another one is needed meanwhile: it is an earlier make.
	f = w.store.fleets["f1"]
	f.Scaling.Min = 4
	w.store.fleets["f1"] = f
	w.runFor(2*time.Minute, "b")
	if w.madeFrom("a") != 4 {
		t.Errorf("%d of what was known good, want 4: %s", w.madeFrom("a"), w.describe())
	}

	// The image was repaired without anybody changing it, and a person says so.
	w.store.overrides.Rollouts = []fleet.RolloutOrder{
		{Fleet: "f1", Action: fleet.ResumeRollout, Attribution: fleet.Attribution{By: "ada", At: w.now}},
	}
	w.runFor(time.Hour, "none")
	if w.madeFrom("b") != 4 || w.madeFrom("a") != 0 {
		t.Errorf("%d new and %d old, want 4 and none: %s", w.madeFrom("b"), w.madeFrom("a"), w.describe())
	}
}

func TestWhatSpeaksAgainstANewImage(t *testing.T) {
	for _, test := range []struct {
		name   string
		from   fleet.CapacityInstanceState
		cause  lifecycle.Cause
		change func(r *row)
		want   bool
	}{
		{"its boot took too long", fleet.Bootstrapping, lifecycle.DeadlinePassed, func(r *row) {
			r.State = fleet.Failed
		}, true},
		{"its provider never showed it", fleet.Provisioning, lifecycle.DeadlinePassed, func(r *row) {
			r.State, r.ProviderInstance = fleet.Failed, ""
		}, false},
		{"its quarantine is over", fleet.Quarantined, lifecycle.DeadlinePassed, func(r *row) {
			r.State = fleet.Terminating
		}, false},
		{"it was refused as invalid", fleet.Provisioning, lifecycle.NothingCreated, func(r *row) {
			r.provision.Class = fleet.ErrorInvalid
		}, true},
		{"there was no room", fleet.Provisioning, lifecycle.NothingCreated, func(r *row) {
			r.provision.Class = fleet.ErrorCapacity
		}, false},
		{"it isn't what it says", fleet.Enrolling, lifecycle.EvidenceFailed, nil, true},
		{"it was refused", fleet.Enrolling, lifecycle.AdmissionRefused, nil, true},
		{"its clean-up failed", fleet.Healthy, lifecycle.RunnerUnfit, nil, true},
		{"it was lost", fleet.Healthy, lifecycle.RunnerLost, nil, true},
		{"it is gone", fleet.Healthy, lifecycle.ProvenGone, nil, true},
		{"it is gone, as its provider had said", fleet.Healthy, lifecycle.ProvenGone, func(r *row) {
			r.Interruption = &fleet.Interruption{Notice: fleet.Notice{Kind: fleet.NoticeInterruption}}
		}, false},
		{"it was reclaimed without a word", fleet.Healthy, lifecycle.ProvenGone, func(r *row) {
			r.fleet.Lifetime = fleet.LifetimePreemptible
		}, false},
		{"it was ended", fleet.Terminating, lifecycle.ProvenGone, nil, false},
		{"it left after its one job", fleet.Healthy, lifecycle.RunnerLeft, func(r *row) {
			r.runner.Report.JobsRun = 1
		}, false},
		{"it left without a job", fleet.Healthy, lifecycle.RunnerLeft, nil, true},
		{"it left for want of work, as it was told", fleet.Healthy, lifecycle.RunnerLeft, func(r *row) {
			r.Scheduling.Leaves = true
		}, false},
		{"it was drained", fleet.Healthy, lifecycle.ForScaleDown, nil, false},
		{"a person quarantined it", fleet.Healthy, lifecycle.ForQuarantine, func(r *row) { r.ID = "odd" }, true},
		{"a person quarantined its fleet", fleet.Healthy, lifecycle.ForQuarantine, func(r *row) { r.Fleet = "f9" }, false},
	} {
		now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
		w := &step{now: now}
		w.stored.Overrides.Quarantines = []fleet.Quarantine{{Instance: "odd"}, {Fleet: "f9"}}
		r := &row{provision: &fleet.Operation{}, runner: &fleet.Runner{}}
		r.ID, r.Fleet, r.ProviderInstance, r.Created = "i1", "f1", "vm-1", now.Add(-time.Hour)
		if test.name == "its provider never showed it" {
			r.runner = nil
		}
		if test.change != nil {
			test.change(r)
		}
		if got := w.isFailure(end{r, test.cause, test.from}); got != test.want {
			t.Errorf("%s: %t, want %t", test.name, got, test.want)
		}
	}
}
