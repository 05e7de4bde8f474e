package ec2sim

import (
	"strings"
	"time"
)

// family is the bucket of requests that an operation draws from.
type family int

const (
	describing family = iota // of which an unfiltered list has a bucket of its own
	mutating
	launching
	unfiltered
	launched // resources, not requests: one for each instance that is asked for
)

// published are the sizes and refills per second that the vendor's page on
// request throttling gives.
var published = map[family]struct{ size, refill float64 }{
	describing: {100, 20},
	unfiltered: {50, 10},
	mutating:   {50, 5},
	launching:  {5, 2},
	launched:   {1000, 2},
}

type bucket struct {
	tokens float64
	filled time.Time
}

type buckets map[family]*bucket

func newBuckets(now time.Time) buckets {
	all := buckets{}
	for one, figures := range published {
		all[one] = &bucket{tokens: figures.size, filled: now}
	}
	return all
}

// take draws from one bucket, or nothing at all where it holds too little.
func (b buckets) take(one family, amount float64, now time.Time) bool {
	figures, held := published[one], b[one]
	if since := now.Sub(held.filled); since > 0 {
		held.tokens = min(figures.size, held.tokens+since.Seconds()*figures.refill)
		held.filled = now
	}
	if held.tokens < amount {
		return false
	}
	held.tokens -= amount
	return true
}

// admit draws from the buckets that the request needs.
func (s *Simulator) admit(now time.Time, action string, one family, request form) *apiError {
	if !s.options.Throttled {
		return nil
	}
	if one == describing && !narrowed(request) {
		one = unfiltered
	}
	if !s.buckets.take(one, 1, now) {
		return refuse(503, "RequestLimitExceeded", "Request limit exceeded.")
	}
	if one != launching {
		return nil
	}
	count, refusal := request.number("MaxCount", 1)
	if refusal != nil {
		return refusal
	}
	if !s.buckets.take(launched, float64(count), now) {
		return refuse(503, "RequestLimitExceeded", "Resource limit exceeded.")
	}
	return nil
}

// narrowed tells whether a list is for things by name or filter, or paginated:
// such a list draws from the larger bucket.
func narrowed(request form) bool {
	for name := range request {
		first := firstPart(name)
		if first == "Filter" || first == "MaxResults" || strings.HasSuffix(first, "Id") || first == "InstanceType" {
			return true
		}
	}
	return false
}

func firstPart(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return first
}
