// Package usage explains to the user what is wrong with a command line. Cobra and
// pflag find the mistake; their own messages are written for developers.
package usage

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Explain makes root and every command below it explain wrong arguments and flags, and
// name what was probably meant. Call it once all commands are added: their checks are
// wrapped. Hints may be empty.
func Explain(root *cobra.Command, hints Hints) {
	root.SetFlagErrorFunc(hints.badFlag)
	explain(root, hints)
}

func explain(c *cobra.Command, hints Hints) {
	if check := c.Args; check != nil {
		c.Args = arguments(check, hints)
	}
	if c.Runnable() {
		c.PreRunE = flags(c.PreRunE)
	}
	for _, sub := range c.Commands() {
		explain(sub, hints)
	}
}

func arguments(check cobra.PositionalArgs, hints Hints) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		err := check(c, args)
		switch {
		case err == nil:
			return nil
		case len(args) == 0:
			return fmt.Errorf("missing argument. Usage:\n  %s", c.UseLine())
		case !c.HasSubCommands():
			return fmt.Errorf("invalid arguments %q. Usage:\n  %s", args, c.UseLine())
		}
		return hints.unknownCommand(c, args[0])
	}
}

// The annotations in which cobra keeps what a command's Mark… methods were given. It
// exports only the first name; tests notice if the others change.
const (
	required  = cobra.BashCompOneRequiredFlag
	oneOf     = "cobra_annotation_one_required"
	exclusive = "cobra_annotation_mutually_exclusive"
)

// flags checks what cobra would check next with a message about groups.
func flags(then func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if err := errors.Join(missing(c), together(c)); err != nil {
			return err
		}
		if then == nil {
			return nil
		}
		return then(c, args)
	}
}

// missing is the error for required flags that weren't given.
func missing(c *cobra.Command) (err error) {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if needed := f.Annotations[required]; len(needed) == 1 && needed[0] == "true" && !f.Changed {
			names = append(names, "--"+f.Name)
		}
	})
	if len(names) > 0 {
		is := "is"
		if len(names) > 1 {
			is = "are"
		}
		return fmt.Errorf("%s %s required. Usage:\n  %s", listed(names, "and"), is, c.UseLine())
	}
	groups(c, oneOf, func(group []string) {
		if err == nil && len(given(c, group)) == 0 {
			err = fmt.Errorf("%s is required:%s", listed(dashed(group), "or"), meanings(c, group))
		}
	})
	return err
}

// together is the error for flags that contradict each other.
func together(c *cobra.Command) (err error) {
	groups(c, exclusive, func(group []string) {
		if both := given(c, group); err == nil && len(both) > 1 {
			err = fmt.Errorf("%s can't be combined:%s", listed(dashed(both), "and"), meanings(c, both))
		}
	})
	return err
}

// groups visits each group of flags that bears an annotation.
func groups(c *cobra.Command, annotation string, visit func([]string)) {
	seen := map[string]bool{}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		for _, group := range f.Annotations[annotation] {
			if !seen[group] {
				seen[group] = true
				visit(strings.Fields(group))
			}
		}
	})
}

func given(c *cobra.Command, group []string) (names []string) {
	for _, name := range group {
		if c.Flags().Changed(name) {
			names = append(names, name)
		}
	}
	return names
}

func dashed(names []string) (all []string) {
	for _, name := range names {
		all = append(all, "--"+name)
	}
	return all
}

// meanings lists flags with their descriptions, each on a line.
func meanings(c *cobra.Command, names []string) string {
	var all strings.Builder
	for _, name := range names {
		fmt.Fprintf(&all, "\n  --%s: %s", name, meaning(c.Flags().Lookup(name)))
	}
	return all.String()
}

// listed is "a", "a and b", "a, b and c".
func listed(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// badFlag is the error for an unknown flag, or a value that a flag can't take.
func (h Hints) badFlag(c *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		empty   *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return h.unknownShort(c, unknown.GetSpecifiedShortnames())
	case errors.As(err, &unknown):
		return h.unknownFlag(c, "--"+unknown.GetSpecifiedName(), unknown.GetSpecifiedName())
	case errors.As(err, &empty):
		return fmt.Errorf("--%s needs a value: %s", empty.GetFlag().Name, meaning(empty.GetFlag()))
	case errors.As(err, &invalid):
		return fmt.Errorf("--%s %q: %s", invalid.GetFlag().Name, shortened(invalid.GetValue()), expected(invalid))
	}
	return fmt.Errorf("%w. Usage:\n  %s", err, c.UseLine())
}

// expected is what a flag would have taken. A flag with a check of its own explains it;
// the errors of Go's parsers are replaced.
func expected(e *pflag.InvalidValueError) string {
	cause, kind := e.Unwrap(), e.GetFlag().Value.Type()
	var number *strconv.NumError
	switch numeric := errors.As(cause, &number); {
	case kind == "bool":
		return "must be true or false"
	case numeric && strings.HasPrefix(kind, "float"):
		return "must be a number"
	case numeric && strings.HasPrefix(kind, "int"):
		return "must be a whole number"
	case kind == "duration" && !isDuration(e.GetValue()):
		return "must be a duration, for example 90s, 15m or 2h"
	}
	return fmt.Sprint(cause)
}

// shortened is the beginning of a long value: the user knows the rest.
func shortened(text string) string {
	const most = 60
	if all := []rune(text); len(all) > most {
		return string(all[:most]) + "…"
	}
	return text
}

func isDuration(text string) bool {
	_, err := time.ParseDuration(text)
	return err == nil
}

func meaning(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	return text
}
