package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// What people do about images.
const (
	NewImage    FaultKind = "new image"    // the file asks for another image
	BrokenImage FaultKind = "broken image" // the file asks for one whose hosts never enroll
	ImageOrder  FaultKind = "image order"  // pause, resume, or roll back
)

var imageKinds = []FaultKind{NewImage, BrokenImage, ImageOrder}

// rolloutsOf draws how the fleets of a seed are rolled out, and what becomes of
// their images. In two of three seeds they have none.
func rolloutsOf(seed uint64) (policies []fleet.RolloutPolicy, faults []Fault) {
	random := rand.New(rand.NewPCG(seed, 34))
	if random.IntN(3) > 0 {
		return nil, nil
	}
	for range 2 {
		policies = append(
			policies,
			fleet.RolloutPolicy{Canary: random.IntN(3), Soak: time.Duration(random.IntN(60)) * time.Second,
				Surge: random.IntN(3), Unavailable: random.IntN(2)},
		)
	}
	for range 1 + random.IntN(4) {
		faults = append(
			faults,
			Fault{Kind: imageKinds[random.IntN(len(imageKinds))], Provider: random.IntN(2), Draw: random.Uint64(),
				At: time.Duration(random.Int64N(int64(chaos))).Truncate(time.Millisecond)},
		)
	}
	return policies, faults
}

// giveImages gives the fleets whose hosts are made their first image.
func (w *world) giveImages(policies []fleet.RolloutPolicy) {
	for n, policy := range policies {
		w.store.fleets[n].Rollout = policy
		w.changeImage(n, false)
	}
}

// changeImage has the file of a fleet ask for another image.
func (w *world) changeImage(n int, broken bool) {
	w.images++
	name := fmt.Sprintf("%08d", w.images)
	image := fleet.Image{
		Name:      "linux",
		Digest:    "sha256:" + name + strings.Repeat("0", 56),
		Bootstrap: "cloud-init",
		Ref:       "image-" + name,
	}
	if broken {
		w.broken = append(w.broken, image.Digest)
	}
	f := &w.store.fleets[n]
	f.Image, f.Serial = image, f.Serial+1
	w.store.overrides.Rollouts = slices.DeleteFunc(w.store.overrides.Rollouts, func(o fleet.RolloutOrder) bool {
		return o.Fleet == f.ID && o.Action == fleet.RollBack
	})
	w.say("%s asks for %s, broken %t", f.Address, image.Ref, broken)
}

func (w *world) isBroken(digest string) bool { return slices.Contains(w.broken, digest) }

// strikeImage is what people do about the images of a fleet.
func (w *world) strikeImage(f Fault, random *rand.Rand) {
	switch f.Kind {
	case NewImage, BrokenImage:
		w.changeImage(f.Provider, f.Kind == BrokenImage)
	case ImageOrder:
		words := []fleet.RolloutAction{fleet.PauseRollout, fleet.ResumeRollout, fleet.RollBack}
		w.orderRollout(f.Provider, words[random.IntN(len(words))], random.IntN(2) == 0)
	}
	w.manager.stepSoon(0)
}

// orderRollout is a person's word about the rollouts of a fleet. Without an image
// that was known good there is none to go back to.
func (w *world) orderRollout(n int, word fleet.RolloutAction, skip bool) {
	f, known := w.store.fleets[n], w.store.rollouts[w.store.fleets[n].ID]
	o := fleet.RolloutOrder{
		Fleet:       f.ID,
		Action:      word,
		SkipSoak:    skip,
		Attribution: fleet.Attribution{By: "ada", At: w.now()},
	}
	if word == fleet.RollBack {
		at := slices.IndexFunc(known.Good, func(m fleet.Make) bool { return !m.Image.Same(f.Image) })
		if at < 0 {
			return
		}
		o.From, o.To, o.SkipSoak = f.Image, known.Good[at].Image, false
	}
	w.say("ORDER of %s: %s %s", f.Address, word, o.To.Ref)
	others := slices.DeleteFunc(
		slices.Clone(w.store.overrides.Rollouts),
		func(o fleet.RolloutOrder) bool { return o.Fleet == f.ID },
	)
	w.store.overrides.Rollouts = append(others, o)
}

// lookAfterRollouts is a person who looks at the rollouts in peace, now and then:
// a broken image goes, and what was halted continues.
func (w *world) lookAfterRollouts() {
	if w.settled {
		return
	}
	w.after(3*time.Minute, w.lookAfterRollouts)
	for n := range w.clouds {
		if n >= len(w.store.fleets) || w.store.fleets[n].Joined {
			continue
		}
		f := w.store.fleets[n]
		known := w.store.rollouts[f.ID]
		order, _ := w.store.overrides.Rollout(f)
		switch {
		case w.isBroken(w.store.overrides.Apply(f).Image.Digest):
			if w.orderRollout(n, fleet.RollBack, false); w.isBroken(w.store.overrides.Apply(f).Image.Digest) {
				w.changeImage(n, false)
			}
		case known.Halted != nil || order.Action == fleet.PauseRollout:
			w.orderRollout(n, fleet.ResumeRollout, false)
		}
	}
	w.manager.stepSoon(0)
}

// rolloutStaysInItsBudget: "image changes create new desired identity;", and what
// is replaced for one is replaced within what the file allows.
func (w *world) rolloutStaysInItsBudget(res loop.Result) {
	const name = "a rollout stays in its budget"
	for _, p := range res.Plan.Fleets {
		n := slices.IndexFunc(w.store.fleets, func(f fleet.ManagedFleet) bool { return f.ID == p.Fleet })
		if n < 0 || w.store.fleets[n].Joined {
			continue
		}
		f := w.store.fleets[n]
		drains := 0
		for _, a := range p.Actions {
			if a.Cause == lifecycle.ForRollout {
				drains++
			}
		}
		missing := f.Rollout.Unavailable
		if f.Rollout.Surge == 0 || p.Desired >= f.Scaling.Max || w.boundElsewhere(f) {
			missing = max(1, missing)
		}
		if drains > 0 && p.Counts.Ready-drains < p.Desired-missing {
			w.fail(
				name,
				"%d of %d ready runners of %s leave for a rollout, %d are wanted, and %d may be missing",
				drains,
				p.Counts.Ready,
				f.Address,
				p.Desired,
				missing,
			)
		}
		if p.Rollout != nil && drains > 0 &&
			(p.Rollout.Stage == planner.RolloutHalted || p.Rollout.Stage == planner.RolloutPaused) {
			w.fail(name, "the rollout of %s is %s, and %d runners leave for it", f.Address, p.Rollout.Stage, drains)
		}
	}
}

// boundElsewhere says that a fleet may not always have one more, whatever its max.
func (w *world) boundElsewhere(f fleet.ManagedFleet) bool {
	return w.limited(f.ID) || f.Scheduler != "" && (w.rules.required || len(w.rules.policy.Entitlements) > 0)
}

// limited says that there is a limit to what a fleet may cost.
func (w *world) limited(id fleet.RunnerFleetID) bool {
	return slices.ContainsFunc(w.store.fleets, func(f fleet.ManagedFleet) bool {
		return f.ID == id && !(f.Cost.MaxHourly.IsZero() && f.Cost.MaxDaily.IsZero())
	})
}

// haltedMakesNothingNew: what a rollout was halted for isn't made again while what
// was known good can be. The records and instances are those from before the commit;
// one that is stored for the first time may be on its way already.
func (w *world) haltedMakesNothingNew(c store.Change, before map[fleet.RunnerFleetID]fleet.Rollout) {
	for _, i := range c.Instances {
		known := before[i.Fleet]
		again := slices.ContainsFunc(c.Rollouts, func(r fleet.Rollout) bool { return r.Fleet == i.Fleet })
		if _, stored := w.store.instances[i.ID]; stored || known.Halted == nil || len(known.Good) == 0 || again {
			continue
		}
		good := known.Good[0]
		if known.Target.Made(i, agentVersion) && good.Provider == known.Target.Provider && good.Class == known.Target.Class &&
			!good.Same(known.Target) {
			w.fail(
				"a halted rollout makes nothing new",
				"%s is made from %s, for which the rollout was halted (%s)",
				i.ID,
				known.Target.Image.Ref,
				known.Halted.Reason,
			)
		}
	}
}
