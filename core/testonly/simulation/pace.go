package simulation

import (
	"math/rand/v2"
	"time"
)

// drawPace decides what the clouds' inspections cost: some want to be left alone
// for a while, and some answer for single keys.
func (w *world) drawPace(random *rand.Rand) {
	for _, c := range w.clouds {
		if random.IntN(4) == 0 {
			c.facts.InspectionInterval = time.Duration(1+random.IntN(15)) * time.Second
		}
		c.facts.InspectsByKey, c.facts.InspectionRequests = random.IntN(4) == 0, random.IntN(20)
	}
}
