package loop

import (
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// A job runs for forty minutes on a host that has every reason to leave: nothing waits,
// its drain's deadline is long over, it is too old, its image is outdated, its fleet
// is removed, or a person wants it gone. The fleet manager waits for the job, and
// takes the host away after it.
func TestALongJobEndsByItselfWhateverSpeaksForItsHostToLeave(t *testing.T) {
	for name, reason := range map[string]func(w *world, i fleet.CapacityInstance){
		"nothing else waits": func(*world, fleet.CapacityInstance) {},
		"it is past max_age": func(w *world, _ fleet.CapacityInstance) {
			f := w.store.fleets["f1"]
			f.Runner.MaxAge = time.Hour
			w.store.fleets["f1"] = f
		},
		"its image is outdated": func(w *world, _ fleet.CapacityInstance) { w.reimage("2") },
		"its fleet is removed":  func(w *world, _ fleet.CapacityInstance) { w.remove() },
		"a person drains it": func(w *world, i fleet.CapacityInstance) {
			w.tell(Order{Kind: DrainInstance, Instance: i.ID, By: "ada"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, i := up(t)
			f := w.store.fleets["f1"]
			f.Timeouts.Drain = 10 * time.Minute
			w.store.fleets["f1"] = f
			w.ci.lease(i.ID, 1)
			w.goOn(5 * time.Second)
			w.calls = nil
			reason(w, i)
			w.goOn(40 * time.Minute)
			if got := w.only(); got.ID != i.ID || len(w.terminations()) > 0 ||
				strings.Contains(strings.Join(w.ci.told, " "), "force") {
				t.Fatalf(
					"after 40 minutes of its job: %s, terminations %v, the scheduler was told %v",
					w.describe(),
					w.terminations(),
					w.ci.told,
				)
			}
			w.ci.lease(i.ID, 0)
			w.goOn(5 * time.Minute)
			for _, left := range w.live() {
				if left.ID == i.ID {
					t.Errorf("five minutes after its job: %s", w.describe())
				}
			}
		})
	}
}
