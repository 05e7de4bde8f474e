package expression

import (
	"errors"

	"github.com/zclconf/go-cty/cty"
)

// maxValueWeight bounds a single value, so that a few lines that double each
// other don't fill the memory.
const maxValueWeight = 1 << 20

// TooLarge says what is too large about a value; empty: nothing.
func TooLarge(value cty.Value) string {
	weight, infinite := measure(value)
	switch {
	case weight > maxValueWeight:
		return "A value may hold about a million characters."
	case infinite:
		return "It holds a number that is not finite; numbers go up to 1e300."
	default:
		return ""
	}
}

// weigh counts the elements and characters of a value, and stops counting past
// maxValueWeight.
func weigh(value cty.Value) int {
	weight, _ := measure(value)
	return weight
}

func measure(value cty.Value) (weight int, infinite bool) {
	// The walk ends by itself at the limit: each step adds at least one.
	_ = cty.Walk(value, func(_ cty.Path, part cty.Value) (bool, error) {
		weight++
		part, _ = part.Unmark()
		if part.IsKnown() && !part.IsNull() {
			switch part.Type() {
			case cty.String:
				weight += len(part.AsString())
			case cty.Number:
				double, _ := part.AsBigFloat().Float64()
				infinite = infinite || part.AsBigFloat().IsInf() || double > 1e300 || double < -1e300
			}
		}
		if weight > maxValueWeight {
			return false, errWeight
		}
		return true, nil
	})
	return weight, infinite
}

var errWeight = errors.New("the value is too large")
