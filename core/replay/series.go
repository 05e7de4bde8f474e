package replay

import "time"

// Moment is one part of a replay's time.
type Moment struct {
	// Waiting is the most jobs that waited at once. Hosts and Busy are on average:
	// hosts that were there, booting ones included, and those with a job.
	Waiting int     `json:"waiting"`
	Hosts   float64 `json:"hosts"`
	Busy    float64 `json:"busy"`
}

// mostMoments bounds a series: where it gets longer, two moments become one.
const mostMoments = 480

// series is what happened over time, in moments of equal length.
type series struct {
	begin, last int64
	width       int64
	sums        []sums
}

type sums struct {
	waiting     int
	hosts, busy int64 // host-nanoseconds
}

func newSeries(begin int64) series {
	return series{begin: begin, last: begin, width: int64(time.Minute)}
}

// upTo notes that so much was there from the last time until t.
func (s *series) upTo(t int64, waiting, hosts int, busy int) {
	if t <= s.last {
		return
	}
	for s.last < t {
		n := int((s.last - s.begin) / s.width)
		if n >= mostMoments {
			s.halve()
			continue
		}
		for len(s.sums) <= n {
			s.sums = append(s.sums, sums{})
		}
		until := min(t, s.begin+int64(n+1)*s.width)
		one := &s.sums[n]
		one.waiting = max(one.waiting, waiting)
		one.hosts += int64(hosts) * (until - s.last)
		one.busy += int64(busy) * (until - s.last)
		s.last = until
	}
}

// halve makes one moment of each two.
func (s *series) halve() {
	for n := range s.sums {
		if n%2 == 1 {
			continue
		}
		one := s.sums[n]
		if n+1 < len(s.sums) {
			next := s.sums[n+1]
			one = sums{max(one.waiting, next.waiting), one.hosts + next.hosts, one.busy + next.busy}
		}
		s.sums[n/2] = one
	}
	s.sums = s.sums[:(len(s.sums)+1)/2]
	s.width *= 2
}

func (s *series) moments() []Moment {
	var out []Moment
	for n, one := range s.sums {
		lasts := min(s.width, s.last-s.begin-int64(n)*s.width)
		out = append(
			out,
			Moment{Waiting: one.waiting, Hosts: float64(one.hosts) / float64(lasts), Busy: float64(one.busy) / float64(lasts)},
		)
	}
	return out
}
