package reconcile

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// What the fault simulation found, each as small as it gets.

func TestARunnerThatWasThereBeforeDoesNotForgiveNewFailures(t *testing.T) {
	w := newWorld(t, demoFleet(1, 3))
	w.settle()
	w.pass(2*time.Minute, w.all)
	f := w.store.fleets["f1"]
	f.Scaling.Min, f.Serial = 2, f.Serial+1
	w.store.fleets["f1"] = f
	w.calls = nil
	for end := w.now.Add(5 * time.Minute); w.now.Before(end); {
		var events []Event
		for _, e := range w.effects {
			if p, ok := e.(Provision); ok {
				events = append(events, ProvisionAnswered{Operation: p.Operation.ID, Outcome: fleet.ProvisionNotCreated, Failure: &Failure{Class: fleet.ErrorCapacity, Message: "full"}, CallOver: true})
				continue
			}
			events = append(events, w.run(e))
		}
		w.effects = nil
		w.all()
		w.now = w.now.Add(time.Second)
		w.step(events...)
	}
	if n := strings.Count(strings.Join(w.calls, ","), "provision"); n > 8 {
		t.Errorf("asked %d times in five minutes for what isn't to be had", n)
	}
}
