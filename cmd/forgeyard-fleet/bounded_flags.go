package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

// A number or a time out of its bounds is told where it is typed, in the words of its
// flag: a manager elsewhere knows only its own names for it.

// number is a flag with a whole number from least to most.
type number struct {
	into        *int
	least, most int
}

// numberFlag adds one whose default is what into has.
func numberFlag(flags *pflag.FlagSet, into *int, name string, least, most int, usage string) {
	flags.Var(&number{into, least, most}, name, usage)
}

func (n *number) Set(text string) error {
	value, err := strconv.Atoi(text)
	if err != nil || value < n.least || value > n.most {
		return fmt.Errorf("give a whole number from %d to %d", n.least, n.most)
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
	into        *time.Duration
	least, most time.Duration
}

// spanFlag adds one whose default is what into has. With least = 0 none at all may
// be given, too.
func spanFlag(flags *pflag.FlagSet, into *time.Duration, name string, least, most time.Duration, usage string) {
	flags.Var(&timespan{into, least, most}, name, usage)
}

func (s *timespan) Set(text string) error {
	value, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return fmt.Errorf("give a duration such as 90s, 15m or 2h")
	case value < s.least || value > s.most:
		from := "more than nothing"
		if s.least <= 0 {
			from = "0"
		}
		return fmt.Errorf("give from %s to %d days (%s)", from, s.most/(24*time.Hour), s.most)
	}
	*s.into = value
	return nil
}

func (s *timespan) String() string {
	if s.into == nil || *s.into == 0 {
		return "0"
	}
	return s.into.String()
}

func (s *timespan) Type() string { return "duration" }

// reason is a flag with a sentence for others to read.
type reason struct{ into *string }

func (r reason) Set(text string) error {
	if why := orders.TextProblem(text); why != "" {
		return fmt.Errorf("it %s", why)
	}
	*r.into = text
	return nil
}

func (r reason) String() string {
	if r.into == nil {
		return ""
	}
	return *r.into
}

func (r reason) Type() string { return "string" }
