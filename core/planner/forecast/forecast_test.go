package forecast

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// monday is midnight of one.
var monday = time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)

func after(buckets int) time.Time { return monday.Add(time.Duration(buckets) * Bucket) }

// watch is a recorder that saw a series from monday on.
func watch(series func(n int) int, buckets int) *Recorder {
	r := NewRecorder(nil, monday)
	for n := range buckets {
		if needed := series(n); needed >= 0 {
			r.See(after(n), needed)
		}
	}
	return r
}

// daily and weekly are what a fleet of a team with working hours needs; weekly has
// weekends.
func daily(n int) int {
	return int(6 + 6*math.Sin(2*math.Pi*float64(n%day)/float64(day)))
}

func weekly(n int) int {
	if n%week >= 5*day {
		return 1
	}
	return 2 * daily(n)
}

func noisy(series func(int) int) func(int) int {
	random := rand.New(rand.NewPCG(3, 4))
	return func(n int) int { return max(0, series(n)+random.IntN(5)-2) }
}

func TestAModelIsExactWhereDemandRepeatsItself(t *testing.T) {
	lead := 15 * time.Minute
	for _, which := range Models() {
		for name, test := range map[string]struct {
			series  func(int) int
			buckets int
			season  time.Duration
		}{
			"every day": {daily, 4 * day, 24 * time.Hour}, "every week": {weekly, 3 * week, 7 * 24 * time.Hour},
		} {
			r := watch(test.series, test.buckets)
			for n := test.buckets; n < test.buckets+2*day; n++ {
				p := r.Predict(which, after(n), lead)
				want := 0
				for at := n; at < n+4; at++ { // this bucket, and those of the lead
					want = max(want, test.series(at))
				}
				if !p.NoEffect.IsZero() || p.Runners != want || p.Confidence < 0.999 || p.Season != test.season {
					t.Fatalf("%s, %s: at %s it says %d, want %d: %+v", which.Model, name, after(n), p.Runners, want, p)
				}
				r.See(after(n), test.series(n))
			}
		}
	}
}

func TestAModelBeatsTheLastValueWhereDemandIsNoisy(t *testing.T) {
	const ahead = 6 // half an hour
	for _, m := range models {
		for _, test := range []struct {
			name   string
			season int
			series func(int) int
		}{{"daily", day, noisy(daily)}, {"weekly", week, noisy(weekly)}} {
			var needed []int32
			for n := range 5 * week {
				needed = append(needed, int32(test.series(n)))
			}
			actual := needed[4*week:]
			said, _ := m.model(needed, test.season, ahead, week)
			var last []float64
			for n := range actual {
				last = append(last, float64(needed[4*week+n-ahead]))
			}
			wrong, _ := off(said, actual)
			wrongLast, _ := off(last, actual)
			if wrong >= wrongLast {
				t.Errorf("%s, %s: it is off by %.3f, and the last value by %.3f", m.Model, test.name, wrong, wrongLast)
			}
		}
	}
}

func TestAForecastCountsOnlyWhereThereIsReasonTo(t *testing.T) {
	const twoDays = reason.Duration(48 * time.Hour)
	naive := fleet.Forecast{Model: "seasonal-naive", Version: 1}
	holidays := func(n int) int { // the last day is unlike the others
		if n >= 13*day {
			return 0
		}
		return 10
	}
	random := rand.New(rand.NewPCG(5, 6))
	tests := []struct {
		name    string
		model   fleet.Forecast
		series  func(int) int
		buckets int
		want    reason.Detail
	}{
		{"nothing was seen", naive, daily, 0, reason.ForecastTooEarly{Seen: 0, Needs: twoDays}},
		{
			"too little was seen",
			naive,
			daily,
			20 * 12,
			reason.ForecastTooEarly{Seen: reason.Duration(20 * time.Hour), Needs: twoDays},
		},
		{"enough was seen", naive, daily, 2 * day, nil},
		{
			"demand follows no pattern",
			naive,
			func(int) int { return 20 * (random.IntN(8) / 7) },
			3 * day,
			reason.ForecastInaccurate{},
		},
		{"the last day is unlike all others", naive, holidays, 14 * day, reason.ForecastInaccurate{}},
		{"hardly anybody looked in the last day", naive, func(n int) int {
			if n > 4*day && n%day > 30 {
				return unknown
			}
			return 5
		}, 5 * day, reason.ForecastUntested{Tested: reason.Duration(150 * time.Minute)}},
		{
			"a model of another version",
			fleet.Forecast{Model: "seasonal-naive", Version: 2},
			daily,
			3 * day,
			reason.ForecastModelUnknown{},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := watch(test.series, test.buckets).Predict(test.model, after(test.buckets), UsualLead)
			if p.NoEffect != reason.Of(test.want) {
				t.Errorf("it says %+v, want %+v: %+v", p.NoEffect, test.want, p)
			}
		})
	}
}

func TestWhatNobodySawIsUnknownAndNotZero(t *testing.T) {
	naive := fleet.Forecast{Model: "seasonal-naive", Version: 1}
	away := func(n int) int { // no one looked at noon of the last day
		if n >= 3*day+day/2 && n < 3*day+day/2+24 {
			return unknown
		}
		return 4
	}
	for _, which := range []fleet.Forecast{naive, {Model: "holt-winters", Version: 1}} {
		p := watch(away, 4*day+day/2).Predict(which, after(4*day+day/2), 0)
		if !p.NoEffect.IsZero() || p.Runners != 4 || p.Confidence < 0.999 {
			t.Errorf("%s: %+v", which.Model, p)
		}
	}
}

func TestAFleetThatNeedsNothingStoresNothing(t *testing.T) {
	r := watch(func(int) int { return 0 }, 3*day)
	if due := r.Due(); due != nil {
		t.Errorf("to be stored: %v", due)
	}
	first := SlotOf(monday)
	r.See(after(3*day), 2)
	r.See(after(3*day+1), 2)
	want := []Run{{first, first + Slot(3*day) - 1, 0}, {first + Slot(3*day), first + Slot(3*day), 2}}
	if diff := cmp.Diff(want, r.Due()); diff != "" {
		t.Errorf("with the first number that isn't zero (-want +got):\n%s", diff)
	}
}

func TestOneBucketIsStoredOnceWithTheMostThatWasNeeded(t *testing.T) {
	r := NewRecorder(nil, monday)
	first := SlotOf(monday)
	for n, needed := range []int{1, 5, 2} {
		r.See(monday.Add(time.Duration(n)*time.Minute), needed)
		if due := r.Due(); due != nil {
			t.Fatalf("the bucket hasn't ended, and %v is to be stored", due)
		}
	}
	r.See(after(1), 5)
	if diff := cmp.Diff([]Run{{first, first, 5}}, r.Due()); diff != "" {
		t.Error(diff)
	}
	r.Stored(r.Due())
	r.See(after(1).Add(time.Minute), 3)
	if due := r.Due(); due != nil {
		t.Errorf("it is stored, and %v is to be stored again", due)
	}
	r.See(after(2), 1) // the same number again makes the run longer
	if diff := cmp.Diff([]Run{{first, first + 1, 5}}, r.Due()); diff != "" {
		t.Error(diff)
	}
}

func TestHistoryOutlivesTheRecorderWithItsHoles(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	series := func(n int) int {
		if n%(2*day) < 30 || n/40%7 == 3 {
			return unknown
		}
		return random.IntN(3)
	}
	stored := map[Slot]Run{}
	r := NewRecorder(nil, monday)
	for n := range 4 * day {
		if needed := series(n); needed >= 0 {
			r.See(after(n), needed)
		}
		due := r.Due()
		for _, run := range due {
			stored[run.First] = run
		}
		r.Stored(due)
	}
	r.See(after(4*day), 0)
	for _, run := range r.All() { // an ordered stop
		stored[run.First] = run
	}
	var rows []Run
	for _, run := range stored {
		rows = append(rows, run)
	}
	again := NewRecorder(rows, after(4*day))
	if diff := cmp.Diff(r.history.until(SlotOf(after(4*day))), again.history.until(SlotOf(after(4*day)))); diff != "" {
		t.Errorf("it comes back otherwise (-was +is):\n%s", diff)
	}
}

func TestAClockThatIsSetBackLeavesNothingOfTheFuture(t *testing.T) {
	r := watch(func(int) int { return 3 }, 20)
	r.Stored(r.Due())
	r.See(after(10), 7)
	r.See(after(11), 7)
	first := SlotOf(monday)
	if diff := cmp.Diff([]Run{{first, first + 9, 3}, {first + 10, first + 10, 7}}, r.Due()); diff != "" {
		t.Errorf("to be stored (-want +got):\n%s", diff)
	}
	if got := r.history.until(first + 12); len(got) != 12 || got[10] != 7 || got[11] != unknown {
		t.Errorf("it remembers %v", got)
	}
	r.See(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC), 1)
	r.See(after(12), 7)
	r.See(after(13), 7)
	if got := r.history.until(first + 13); len(got) != 13 || got[12] != 7 {
		t.Errorf("after a visit to another year it remembers %v", got)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	r := watch(daily, 3*most/2)
	if n := len(r.history.needed); n > most {
		t.Errorf("it remembers %d buckets of at most %d", n, most)
	}
}

func FuzzGarbageIsNoReasonToPanic(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, int64(0), int64(600))
	f.Add([]byte{255, 255, 0, 0, 128, 3, 200, 1, 1, 1, 1, 9}, int64(-1<<40), int64(1<<40))
	f.Fuzz(func(t *testing.T, raw []byte, begin, lead int64) {
		now := time.Unix(begin%(1<<40), 0)
		var runs []Run
		for len(raw) >= 4 {
			at := SlotOf(now) - Slot(raw[0])*64 + Slot(int8(raw[1]))
			runs = append(runs, Run{at, at + Slot(int8(raw[2]))*32, int(int8(raw[3])) << (raw[0] % 32)})
			raw = raw[4:]
		}
		r := NewRecorder(runs, now)
		for n, run := range runs {
			now = now.Add(time.Duration(run.Needed%2000) * time.Minute) // back, too
			r.See(now, run.Needed)
			for _, which := range Models() {
				p := r.Predict(which, now, time.Duration(lead))
				if p.Runners < 0 || p.Runners > largest || !(p.Confidence >= 0 && p.Confidence <= 1) || !p.Changes.After(now) ||
					p.Until.Before(p.Changes) {
					t.Fatalf("%+v", p)
				}
				if math.IsNaN(p.Confidence) {
					t.Fatal(p.ReasonModel())
				}
			}
			if n%3 == 0 {
				r.Stored(r.Due())
			}
			for _, due := range r.Due() {
				if due.Last < due.First || due.Needed < 0 {
					t.Fatalf("to be stored: %+v", due)
				}
			}
		}
	})
}

func BenchmarkPredict(b *testing.B) {
	r := watch(noisy(weekly), most)
	for _, which := range Models() {
		b.Run(which.Model, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Predict(which, after(most), UsualLead)
			}
		})
	}
}
