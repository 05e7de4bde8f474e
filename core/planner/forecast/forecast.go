package forecast

import (
	"math"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// LeastConfidence is below what a forecast has no effect.
const LeastConfidence = 0.6

// highConfidence is from what on it is called high.
const highConfidence = 0.85

// UsualLead is how far ahead is looked where it isn't known how long a fleet's
// hosts take from the decision until they are there, and LongestLead the most.
const (
	UsualLead   = 10 * time.Minute
	LongestLead = 6 * time.Hour
)

// Prediction is what a model says about a fleet.
type Prediction struct {
	fleet.Forecast
	// Runners is the most that will be needed from now until Until.
	Runners int       `json:"runners"`
	Until   time.Time `json:"until"`
	// Season is after how long it takes demand to repeat itself: a day or a week.
	Season time.Duration `json:"season,omitempty"`
	// Confidence is between 0 and 1: 1 less by how much the model was off in the last
	// days, as a part of what was needed then (spec §121).
	Confidence float64 `json:"confidence"`
	// NoEffect says why it has none; zero: it counts.
	NoEffect reason.Reason `json:"no_effect,omitzero"`
	// Changes is when there will be another one.
	Changes time.Time `json:"changes"`
}

// ReasonModel is the model, and how far the prediction can be relied on where that is
// known.
func (p Prediction) ReasonModel() reason.Model {
	m := reason.Model{Name: p.Model, Version: p.Version}
	if !p.NoEffect.IsZero() && p.Season == 0 {
		return m
	}
	m.Confidence, m.Level = p.Confidence, "low"
	switch {
	case p.Confidence >= highConfidence:
		m.Level = "high"
	case p.Confidence >= LeastConfidence:
		m.Level = "fair"
	}
	return m
}

// Predict says what the recorder's fleet will need from now until a lead after the
// end of this bucket. It is the same for all of the bucket.
func (r *Recorder) Predict(which fleet.Forecast, now time.Time, lead time.Duration) Prediction {
	at := SlotOf(now)
	ahead := 1 + int((min(max(lead, 0), LongestLead)+Bucket-1)/Bucket)
	p := Prediction{Forecast: which, Changes: (at + 1).Start(), Until: (at + Slot(ahead)).Start()}
	needed := r.history.until(at)
	if len(needed) < 2*day {
		p.NoEffect = reason.Of(reason.ForecastTooEarly{Seen: span(len(needed)), Needs: span(2 * day)})
		return p
	}
	var best trial
	for _, season := range []int{day, week} {
		if t, fits := try(which, needed, season, ahead); fits && (best.season == 0 || t.error < best.error) {
			best = t
		}
	}
	if best.season == 0 {
		p.NoEffect = reason.Of(reason.ForecastModelUnknown{})
		return p
	}
	p.Season, p.Confidence = time.Duration(best.season)*Bucket, 1-best.error
	runners, says := highest(best.next)
	p.Runners = runners
	switch {
	case best.known < day/2:
		p.NoEffect = reason.Of(reason.ForecastUntested{Tested: span(best.known)})
	case p.Confidence < LeastConfidence:
		p.NoEffect = reason.Of(reason.ForecastInaccurate{})
	case !says:
		p.NoEffect = reason.Of(reason.ForecastHourNew{})
	}
	return p
}

// span is how long so many buckets are.
func span(buckets int) reason.Duration { return reason.Duration(time.Duration(buckets) * Bucket) }

// trial is how a model did with a season.
type trial struct {
	season int
	next   []float64
	// error is by how much it was off, as a part of what was needed, at most 1; of the
	// last week and the last day the worse, so that a day unlike the others is
	// noticed in hours.
	error float64
	// known is in how many buckets of the last day it could be tested.
	known int
}

func try(which fleet.Forecast, needed []int32, season, ahead int) (trial, bool) {
	for _, m := range models {
		if m.Forecast == which && len(needed) >= 2*season {
			tested := min(week, len(needed)-season)
			said, next := m.model(needed, season, ahead, tested)
			actual := needed[len(needed)-tested:]
			long, _ := off(said, actual)
			short, known := off(said[tested-day:], actual[tested-day:])
			return trial{season: season, next: next, error: max(long, short), known: known}, true
		}
	}
	return trial{}, false
}

// off is the sum of the differences as a part of what was needed, from 0 to 1.
func off(said []float64, actual []int32) (part float64, known int) {
	var wrong, total float64
	for n, value := range actual {
		if value == unknown || math.IsNaN(said[n]) {
			continue
		}
		known++
		total += float64(value)
		wrong += math.Abs(float64(whole(said[n])) - float64(value))
	}
	switch {
	case wrong == 0:
		return 0, known
	case total == 0:
		return 1, known
	}
	return min(1, wrong/total), known
}

// highest is the largest number; false: there is none.
func highest(all []float64) (most int, says bool) {
	for _, value := range all {
		if !math.IsNaN(value) {
			most, says = max(most, whole(value)), true
		}
	}
	return most, says
}

// whole is a number of runners.
func whole(value float64) int { return int(math.Floor(min(max(value, 0), largest) + 0.5)) }
