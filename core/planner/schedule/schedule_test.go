package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func calendar(t testing.TB, cron, zone string) *Calendar {
	t.Helper()
	c, err := Read(cron, zone)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func moment(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestEachTimeBeginsOnceOnItsDay(t *testing.T) {
	tests := []struct {
		name, cron, zone, after string
		want                    []string
	}{
		{
			"on a plain day by the zone's clock",
			"0 8 * * 1-5",
			"Europe/Berlin",
			"2026-11-27T12:00:00Z",
			[]string{"2026-11-30T07:00:00Z", "2026-12-01T07:00:00Z"},
		},
		{
			"a time that doesn't exist begins when the clock is put forward",
			"30 2 * * *",
			"Europe/Berlin",
			"2027-03-27T12:00:00Z",
			[]string{"2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"},
		},
		{
			"a time that exists twice begins the first time",
			"30 2 * * *",
			"Europe/Berlin",
			"2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		},
		{
			"by another zone's rules",
			"30 1 * * *",
			"America/New_York",
			"2026-10-31T12:00:00Z",
			[]string{"2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"},
		},
		{
			"by a zone whose clock is put by half an hour",
			"15 2 * * *",
			"Australia/Lord_Howe",
			"2026-10-03T00:00:00Z",
			[]string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"},
		},
		{
			"midnight that doesn't exist",
			"0 0 * * *",
			"America/Santiago",
			"2026-09-05T12:00:00Z",
			[]string{"2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"},
		},
		{
			"a begin in every hour comes in the repeated hour, too",
			"0 * * * *",
			"Europe/Berlin",
			"2026-10-24T23:30:00Z",
			[]string{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"},
		},
		{
			"the 29th of February, where there is one",
			"0 0 29 2 *",
			"UTC",
			"2026-06-01T00:00:00Z",
			[]string{"2028-02-29T00:00:00Z"},
		},
		{
			"a day of the month or of the week, as cron has it",
			"0 0 1 * 1",
			"UTC",
			"2026-11-28T00:00:00Z",
			[]string{"2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z", "2026-12-07T00:00:00Z"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, at := calendar(t, test.cron, test.zone), moment(t, test.after)
			for _, want := range test.want {
				next, found := c.Next(at, at.Add(Ahead))
				if !found || !next.Equal(moment(t, want)) {
					t.Fatalf("after %s it begins at %s (%v), want %s", at, next.UTC(), found, want)
				}
				if last, found := c.Last(next.Add(time.Second), at); !found || !last.Equal(next) {
					t.Errorf("the last begin before %s is %s (%v)", next.Add(time.Second), last.UTC(), found)
				}
				at = next
			}
		})
	}
}

func TestWindowsThatTouchAreOne(t *testing.T) {
	tests := []struct {
		name, cron, zone string
		duration         time.Duration
		now              string
		open             bool
		changes          string
	}{
		{
			"closed until the next begin",
			"0 8 * * 1-5",
			"Europe/Berlin",
			10 * time.Hour,
			"2026-11-28T12:00:00Z",
			false,
			"2026-11-30T07:00:00Z",
		},
		{
			"open from the moment it begins",
			"0 8 * * 1-5",
			"Europe/Berlin",
			10 * time.Hour,
			"2026-11-30T07:00:00Z",
			true,
			"2026-11-30T17:00:00Z",
		},
		{
			"closed from the moment it ends",
			"0 8 * * 1-5",
			"Europe/Berlin",
			10 * time.Hour,
			"2026-11-30T17:00:00Z",
			false,
			"2026-12-01T07:00:00Z",
		},
		{
			"a window crosses midnight",
			"0 22 * * *",
			"UTC",
			8 * time.Hour,
			"2026-11-30T03:00:00Z",
			true,
			"2026-11-30T06:00:00Z",
		},
		{
			"a window lasts real time where the clock is put back",
			"0 0 * * 0",
			"Europe/Berlin",
			6 * time.Hour,
			"2026-10-25T00:00:00Z",
			true,
			"2026-10-25T04:00:00Z",
		},
		{
			"and where it is put forward",
			"0 0 * * 0",
			"Europe/Berlin",
			6 * time.Hour,
			"2027-03-28T00:00:00Z",
			true,
			"2027-03-28T05:00:00Z",
		},
		{
			"windows that overlap end with the last of them",
			"0 8-10 * * *",
			"UTC",
			2 * time.Hour,
			"2026-11-30T08:30:00Z",
			true,
			"2026-11-30T12:00:00Z",
		},
		{
			"windows that touch are one",
			"0 8-10 * * *",
			"UTC",
			time.Hour,
			"2026-11-30T08:30:00Z",
			true,
			"2026-11-30T11:00:00Z",
		},
		{
			"windows as long as their distance never end",
			"0 * * * *",
			"Europe/Berlin",
			time.Hour,
			"2026-10-25T00:30:00Z",
			true,
			"",
		},
		{
			"windows longer than their distance never end",
			"0 0 * * *",
			"America/New_York",
			36 * time.Hour,
			"2026-11-01T07:00:00Z",
			true,
			"",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := calendar(t, test.cron, test.zone).At(moment(t, test.now), test.duration)
			var changes time.Time
			if test.changes != "" {
				changes = moment(t, test.changes)
			}
			if w.Open != test.open || !w.Changes.Equal(changes) {
				t.Errorf("open %v until %s, want %v until %s", w.Open, w.Changes.UTC(), test.open, changes)
			}
		})
	}
}

func TestWhatIsNoScheduleIsRefused(t *testing.T) {
	for _, bad := range []source{{"0 8 * * 1-5", "Mars/Olympus"}, {"0 8 * *", "UTC"}, {"0 99 * * *", "UTC"},
		{"@daily", "UTC"}, {"", ""}} {
		if _, err := Read(bad.cron, bad.zone); err == nil {
			t.Errorf("%q in %q is read", bad.cron, bad.zone)
		}
	}
}

// year is what the clock of a zone shows in every minute of a year.
type year struct {
	zone  string
	begin time.Time
	walls []time.Time
}

func yearOf(t testing.TB, zone string) year {
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	y := year{zone: zone, begin: time.Date(2027, 6, 20, 0, 0, 0, 0, time.UTC)} // with a 29th of February
	for n := range 366 * 24 * 60 {
		at := y.begin.Add(time.Duration(n) * time.Minute).In(location)
		y.walls = append(y.walls, time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC))
	}
	return y
}

// fields are a drawn cron expression: sets of values, nil for any.
type fields struct{ minutes, hours, days, months, weekdays []int }

func has(set []int, value int) bool { return set == nil || slices.Contains(set, value) }

func (f fields) match(wall time.Time) bool {
	if !has(f.minutes, wall.Minute()) || !has(f.hours, wall.Hour()) || !has(f.months, int(wall.Month())) {
		return false
	}
	day, weekday := has(f.days, wall.Day()), has(f.weekdays, int(wall.Weekday()))
	if f.days != nil && f.weekdays != nil {
		return day || weekday
	}
	return day && weekday
}

func (f fields) String() string {
	var texts []string
	for _, set := range [][]int{f.minutes, f.hours, f.days, f.months, f.weekdays} {
		text := "*"
		if set != nil {
			text = strings.ReplaceAll(strings.Trim(fmt.Sprint(set), "[]"), " ", ",")
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

// changes walks through a year minute by minute, as one who has only a clock on the
// wall would, and says when it opens and closes in turn.
func (y year) changes(f fields, duration time.Duration) (at []time.Time) {
	var until time.Time
	open := false
	latest := y.walls[0].Add(-time.Minute)
	for n, wall := range y.walls {
		now := y.begin.Add(time.Duration(n) * time.Minute)
		begins := false
		for over := latest.Add(time.Minute); over.Before(wall); over = over.Add(time.Minute) {
			begins = begins || f.match(over) // the clock was put forward over it
		}
		if wall.After(latest) || f.hours == nil {
			begins = begins || f.match(wall)
		}
		if wall.After(latest) {
			latest = wall
		}
		if begins {
			until = now.Add(duration)
		}
		if now.Before(until) != open {
			open = !open
			at = append(at, now)
		}
	}
	return at
}

func TestWindowsAreThoseOfAMinuteByMinuteWalkThroughAYear(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(low, high, most int) (set []int) {
		at := low
		for range 1 + random.IntN(most) {
			if at += random.IntN((high-low)/most + 1); at > high {
				break
			}
			set = append(set, at)
			at++
		}
		if set == nil || random.IntN(2) == 0 {
			return nil
		}
		return set
	}
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe"} {
		y := yearOf(t, zone)
		cases := []fields{
			{
				minutes: []int{30},
				hours:   []int{2},
			},
			{minutes: []int{15}, hours: []int{1, 2}},
			{minutes: []int{0}},
			{minutes: []int{0}, hours: []int{0}},
			{
				minutes:  []int{0},
				hours:    []int{8},
				weekdays: []int{1, 2, 3, 4, 5},
			},
			{minutes: []int{59}, hours: []int{23}, days: []int{29}, months: []int{2}},
		}
		for range 5 {
			cases = append(cases, fields{
				minutes: []int{
					random.IntN(60),
				},
				hours:    draw(0, 23, 4),
				days:     draw(1, 31, 3),
				months:   draw(1, 12, 3),
				weekdays: draw(0, 6, 3),
			})
		}
		for _, f := range cases {
			duration := []time.Duration{time.Minute, 45 * time.Minute, time.Hour, 10 * time.Hour, 24 * time.Hour,
				60 * time.Hour}[random.IntN(6)]
			c := calendar(t, f.String(), zone)
			now, open, end := y.begin, false, y.begin.Add(time.Duration(len(y.walls))*time.Minute)
			want := y.changes(f, duration)
			// The walk begins with nothing open: what began before isn't its to know.
			if len(want) > 0 {
				now = want[0]
			}
			var got []time.Time
			for now.Before(end) {
				w := c.At(now, duration)
				if w.Open != open {
					open = w.Open
					got = append(got, now)
				}
				switch {
				case !w.Changes.IsZero():
					if before := c.At(w.Changes.Add(-time.Nanosecond), duration); before.Open != w.Open {
						t.Fatalf("%q in %s: at %s it changes at %s, and has already just before that", f, zone, now, w.Changes)
					}
					now = w.Changes
				case w.Open:
					now = now.Add(duration)
				default:
					now = end
				}
			}
			if !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Errorf("%q for %s in %s changes at\n%v\nand the walk says\n%v", f, duration, zone, utc(got), utc(want))
			}
		}
	}
}

func utc(all []time.Time) (out []string) {
	for _, at := range all[:min(len(all), 12)] {
		out = append(out, at.UTC().Format("2006-01-02 15:04"))
	}
	return out
}

func BenchmarkAt(b *testing.B) {
	c := calendar(b, "0 8 * * 1-5", "Europe/Berlin")
	for _, now := range []time.Time{moment(b, "2026-11-30T12:00:00Z"), moment(b, "2026-11-28T12:00:00Z")} {
		b.Run(now.Weekday().String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.At(now, 10*time.Hour)
			}
		})
	}
}
