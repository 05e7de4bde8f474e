package forecast

import (
	"math"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// model says from what was needed in each bucket what will be, with a season of so
// many buckets. A model never changes: what would say something else is another
// version (spec §251).
//
// said are the last buckets of needed as the model would have had them, each so many
// buckets ahead, and next those that follow, up to so many ahead. NaN: it can't say.
type model func(needed []int32, season, ahead, tested int) (said, next []float64)

// models are those there are.
var models = []struct {
	fleet.Forecast
	model model
}{
	{fleet.Forecast{Model: "holt-winters", Version: 1}, holtWinters},
	{fleet.Forecast{Model: "seasonal-naive", Version: 1}, seasonalNaive},
}

// Models are the models that there are, by name and version.
func Models() []fleet.Forecast {
	var all []fleet.Forecast
	for _, m := range models {
		all = append(all, m.Forecast)
	}
	return all
}

// seasonalNaive expects what was a season ago, or, where no one looked then, two or
// more seasons ago.
func seasonalNaive(needed []int32, season, ahead, tested int) (said, next []float64) {
	at := func(n int) float64 {
		for n -= season; n >= 0; n -= season {
			if needed[n] != unknown {
				return float64(needed[n])
			}
		}
		return math.NaN()
	}
	for n := len(needed) - tested; n < len(needed); n++ {
		said = append(said, at(n))
	}
	for n := range ahead {
		next = append(next, at(len(needed)+n))
	}
	return said, next
}

// How fast level, trend and seasons of holtWinters follow what is new. They are
// part of its version 1. The level follows within half an hour; a trend is that of
// days, since hours belong to the season.
const (
	levelGain  = 0.2
	trendGain  = 0.0005
	seasonGain = 0.3
)

// holtWinters is additive: a level with a trend, and what each bucket of the season
// is above or below it. A bucket in which no one looked changes none of them.
func holtWinters(needed []int32, season, ahead, tested int) (said, next []float64) {
	level, trend, above := firstSeason(needed[:season])
	expected := func(steps, n int) float64 { return level + float64(steps)*trend + above[n%season] }
	said = make([]float64, tested)
	for n := range said {
		said[n] = math.NaN()
	}
	for n := season; n < len(needed); n++ {
		if value, phase := float64(needed[n]), n%season; needed[n] != unknown {
			if math.IsNaN(above[phase]) {
				level += trend
				above[phase] = value - level
			} else {
				before := level
				level = levelGain*(value-above[phase]) + (1-levelGain)*(level+trend)
				trend = trendGain*(level-before) + (1-trendGain)*trend
				above[phase] = seasonGain*(value-level) + (1-seasonGain)*above[phase]
			}
		}
		if at := n + ahead - (len(needed) - tested); at >= 0 && at < tested {
			said[at] = expected(ahead, n+ahead)
		}
	}
	for n := range ahead {
		next = append(next, expected(n+1, len(needed)+n))
	}
	return said, next
}

// firstSeason is what the first season says: its mean, and how far each of its
// buckets is above that. Some of it is known.
func firstSeason(needed []int32) (level, trend float64, above []float64) {
	known := 0
	for _, n := range needed {
		if n != unknown {
			level, known = level+float64(n), known+1
		}
	}
	level /= float64(max(known, 1))
	above = make([]float64, len(needed))
	for n, value := range needed {
		above[n] = float64(value) - level
		if value == unknown {
			above[n] = math.NaN()
		}
	}
	return level, 0, above
}
