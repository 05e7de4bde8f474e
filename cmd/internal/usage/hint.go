package usage

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Hints say what to use instead of a command or a flag that users of other tools expect
// and that doesn't exist here.
type Hints struct {
	// Commands are by name, Flags by name without dashes.
	Commands, Flags map[string]string
}

func (h Hints) unknownCommand(c *cobra.Command, name string) error {
	if hint, known := h.Commands[name]; known && !c.HasParent() {
		return fmt.Errorf("unknown command %q. %s", name, hint)
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if near := Nearest(name, names); near != "" {
		return fmt.Errorf("unknown command %q. Did you mean:\n  %s %s", name, c.CommandPath(), near)
	}
	return fmt.Errorf("unknown command %q. List the commands with:\n  %s --help", name, c.CommandPath())
}

// unknownShort is about -x, which is often a long flag with a single dash.
func (h Hints) unknownShort(c *cobra.Command, text string) error {
	name, _, _ := strings.Cut(text, "=")
	if len(name) > 1 && c.Flags().Lookup(name) != nil {
		return fmt.Errorf("unknown flag -%s. Did you mean --%[1]s?", name)
	}
	return h.unknownFlag(c, "-"+name, name)
}

// unknownFlag is about a flag as it was given.
func (h Hints) unknownFlag(c *cobra.Command, given, name string) error {
	if hint, known := h.Flags[name]; known {
		return fmt.Errorf("unknown flag %s. %s", given, hint)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := Nearest(name, names); near != "" {
		return fmt.Errorf("unknown flag %s. Did you mean --%s?", given, near)
	}
	return fmt.Errorf("unknown flag %s. List the flags with:\n  %s --help", given, c.CommandPath())
}

// Nearest is the name that a misspelt one probably means: the first of those that
// differ in the fewest letters, at most 2. It is empty if there is none.
func Nearest(given string, names []string) string {
	best, fewest := "", min(2, len(given)/2)+1
	if len(given) > 100 {
		return "" // no name of ours, and slow to compare
	}
	for _, name := range names {
		if n := levenshtein.Distance(given, name, nil); n < fewest {
			best, fewest = name, n
		}
	}
	return best
}
