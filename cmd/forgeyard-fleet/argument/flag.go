package argument

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

// A number or a time out of bounds is refused where it is typed, with the name of its
// flag: a remote manager knows only its own name for it.

// number is a flag with a whole number from least to most.
type number struct {
	name        string
	into        *int
	least, most int
}

// NumberFlag adds one whose default is what into has.
func NumberFlag(flags *pflag.FlagSet, into *int, name string, least, most int, usage string) {
	flags.Var(&number{name, into, least, most}, name, usage)
}

func (n *number) Set(text string) error {
	value, err := strconv.Atoi(text)
	if err != nil || value < n.least || value > n.most {
		return fmt.Errorf("must be a whole number, %d ≤ %s ≤ %d", n.least, n.name, n.most)
	}
	*n.into = value
	return nil
}

func (n *number) String() string {
	if n.into == nil {
		return "0"
	}
	return strconv.Itoa(*n.into)
}

func (n *number) Type() string { return "int" }

// timespan is a flag with a duration from least to most.
type timespan struct {
	name        string
	into        *time.Duration
	least, most time.Duration
}

// SpanFlag adds one whose default is what into has. With least = 0 none at all may
// be given, too.
func SpanFlag(flags *pflag.FlagSet, into *time.Duration, name string, least, most time.Duration, usage string) {
	flags.Var(&timespan{name, into, least, most}, name, usage)
}

func (s *timespan) Set(text string) error {
	value, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("must be a duration, for example 90s, 15m or 2h")
	case value < s.least || value > s.most:
		least := "0 <"
		if s.least <= 0 {
			least = "0 ≤"
		}
		return fmt.Errorf("must be %s %s ≤ %s (%d days)", least, s.name, Hours(s.most), s.most/(24*time.Hour))
	}
	*s.into = value
	return nil
}

// Hours is a whole number of hours, as it can be typed.
func Hours(d time.Duration) string { return fmt.Sprintf("%dh", d/time.Hour) }

func (s *timespan) String() string {
	if s.into == nil || *s.into == 0 {
		return "0"
	}
	return s.into.String()
}

func (s *timespan) Type() string { return "duration" }

// ReasonFlag is a flag with a sentence for others to read.
type ReasonFlag struct{ Into *string }

func (r ReasonFlag) Set(text string) error {
	if why := orders.TextProblem(text); why != "" {
		return errors.New(why)
	}
	*r.Into = text
	return nil
}

func (r ReasonFlag) String() string {
	if r.Into == nil {
		return ""
	}
	return *r.Into
}

func (r ReasonFlag) Type() string { return "string" }
