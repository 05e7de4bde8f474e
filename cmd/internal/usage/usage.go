// Package usage says in words for people what is wrong with a command line. Cobra
// and pflag find it out, and their own words are for who wrote the program.
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

// Explain has root and every command below it say how it is used where its arguments
// or flags are wrong, and name the commands that are like an unknown one. It is for
// commands that are complete: their checks are wrapped.
func Explain(root *cobra.Command) {
	root.SetFlagErrorFunc(badFlag)
	explain(root)
}

func explain(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = arguments(check)
	}
	if c.Runnable() {
		c.PreRunE = flags(c.PreRunE)
	}
	c.SuggestionsMinimumDistance = 2
	for _, sub := range c.Commands() {
		explain(sub)
	}
}

func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		err := check(c, args)
		switch {
		case err == nil:
			return nil
		case len(args) == 0:
			return fmt.Errorf("an argument is missing; usage: %s", c.UseLine())
		case !c.HasSubCommands():
			return fmt.Errorf("the arguments %q don't fit; usage: %s", args, c.UseLine())
		}
		if like := c.SuggestionsFor(args[0]); len(like) > 0 {
			return fmt.Errorf("there is no command %q; there is: %s %s", args[0], c.CommandPath(), strings.Join(like, ", "))
		}
		return fmt.Errorf("there is no command %q; run: %s --help", args[0], c.CommandPath())
	}
}

// The annotations by which cobra knows what the Mark… methods of a command said. It
// names the first one alone; of the others a test sees whether they still hold.
const (
	required  = cobra.BashCompOneRequiredFlag
	oneOf     = "cobra_annotation_one_required"
	exclusive = "cobra_annotation_mutually_exclusive"
)

// flags checks what cobra checks next, whose words would be about groups.
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

// missing says which flags a command can't go without.
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
		return fmt.Errorf("%s %s missing; usage: %s", listed(names, "and"), is, c.UseLine())
	}
	groups(c, oneOf, func(group []string) {
		if err == nil && len(given(c, group)) == 0 {
			err = fmt.Errorf("say which with %s: %s", listed(dashed(group), "or"), strings.Join(meanings(c, group), "; "))
		}
	})
	return err
}

// together says which flags contradict each other.
func together(c *cobra.Command) (err error) {
	groups(c, exclusive, func(group []string) {
		if both := given(c, group); err == nil && len(both) > 1 {
			err = fmt.Errorf("%s can't be given together: %s", listed(dashed(both), "and"), strings.Join(meanings(c, both), "; "))
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

// meanings are flags with what each is for.
func meanings(c *cobra.Command, names []string) (all []string) {
	for _, name := range names {
		text := meaning(c.Flags().Lookup(name))
		all = append(all, fmt.Sprintf("--%s: %s", name, text))
	}
	return all
}

// listed is "a", "a and b", "a, b and c".
func listed(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// badFlag is about a flag that there isn't, or a value that it can't take.
func badFlag(c *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		empty   *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return fmt.Errorf("there is no flag -%s; run: %s --help", unknown.GetSpecifiedShortnames(), c.CommandPath())
	case errors.As(err, &unknown):
		return fmt.Errorf("there is no flag --%s; run: %s --help", unknown.GetSpecifiedName(), c.CommandPath())
	case errors.As(err, &empty):
		return fmt.Errorf("--%s has no value: %s", empty.GetFlag().Name, meaning(empty.GetFlag()))
	case errors.As(err, &invalid):
		return fmt.Errorf("--%s %q: %s", invalid.GetFlag().Name, shortened(invalid.GetValue()), expected(invalid))
	}
	return fmt.Errorf("%w; usage: %s", err, c.UseLine())
}

// expected is what a flag would have taken. A flag with a check of its own has said
// so in our words; the rest are the words of Go's parsers.
func expected(e *pflag.InvalidValueError) string {
	cause, kind := e.Unwrap(), e.GetFlag().Value.Type()
	var number *strconv.NumError
	switch numeric := errors.As(cause, &number); {
	case kind == "bool":
		return "give true or false, or the flag alone"
	case numeric && strings.HasPrefix(kind, "float"):
		return "give a number"
	case numeric && strings.HasPrefix(kind, "int"):
		return "give a whole number"
	case kind == "duration" && !isDuration(e.GetValue()):
		return "give a duration such as 90s, 15m or 2h"
	}
	return fmt.Sprint(cause)
}

// shortened is the beginning of what was given: a text that is too long needn't be
// read again.
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
