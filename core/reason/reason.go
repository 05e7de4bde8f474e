package reason

import "time"

// Detail is one reason with its parameters: a comparable struct of this package.
type Detail interface {
	// Text is the reason for people.
	Text() string
}

// Code names a kind of reason: the name of its type in snake_case. It is stable.
type Code string

// Reason is why something is as it is. Two are == where they say the same. The zero
// value is not a reason.
type Reason struct {
	Params Detail
}

// Of is the reason with such a detail; nil is not a reason.
func Of(d Detail) Reason { return Reason{d} }

// IsZero says that there is no reason.
func (r Reason) IsZero() bool { return r.Params == nil }

// Code is the kind of reason; "" where there is none.
func (r Reason) Code() Code {
	if r.Params == nil {
		return ""
	}
	return codeOf(r.Params)
}

// Text is the reason for people; "" where there is none.
func (r Reason) Text() string {
	if r.Params == nil {
		return ""
	}
	return r.Params.Text()
}

// String is Text, so that a reason can be formatted.
func (r Reason) String() string { return r.Text() }

// relative is a reason whose text is shorter for a reader of the moment.
type relative interface {
	TextAt(now time.Time) string
}

// TextAt is Text with times to come as seen from now, such as "next try in 5s".
func (r Reason) TextAt(now time.Time) string {
	if d, ok := r.Params.(relative); ok {
		return d.TextAt(now)
	}
	return r.Text()
}

// As is the reason's parameters, where it is of that kind.
func As[T Detail](r Reason) (T, bool) {
	d, ok := r.Params.(T)
	return d, ok
}

// Is says that the reason is of a kind.
func Is[T Detail](r Reason) bool {
	_, ok := r.Params.(T)
	return ok
}

// CodeOf is the code of a kind of reason.
func CodeOf[T Detail]() Code {
	var zero T
	return codeOf(zero)
}
