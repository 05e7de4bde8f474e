package usage

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// program is one with a flag of each kind.
func program() *cobra.Command {
	root := &cobra.Command{
		Use:           "tool",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(*cobra.Command, []string) error { return nil },
	}
	run := func(*cobra.Command, []string) error { return nil }
	settle := &cobra.Command{Use: "settle THING", Args: cobra.ExactArgs(1), RunE: run}
	settle.Flags().String("made", "", "it made the `id`")
	settle.Flags().Bool("gone", false, "it is gone")
	settle.MarkFlagsOneRequired("made", "gone")
	settle.MarkFlagsMutuallyExclusive("made", "gone")
	book := &cobra.Command{Use: "book --class C --start T --end T", Args: cobra.NoArgs, RunE: run}
	for _, name := range []string{"class", "start", "end"} {
		book.Flags().String(name, "", "the "+name)
		_ = book.MarkFlagRequired(name)
	}
	book.Flags().Int("count", 1, "how many")
	book.Flags().Float64("cpu", 1, "how much of it")
	book.Flags().Duration("for", time.Hour, "how long")
	book.Flags().BoolP("loud", "l", false, "say it")
	root.AddCommand(settle, book)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	Explain(
		root,
		Hints{
			Commands: map[string]string{"destroy": "Use:\n  tool settle"},
			Flags:    map[string]string{"target": "All is booked."},
		},
	)
	return root
}

func TestMistakesAreExplained(t *testing.T) {
	const all = "book --class c --start s --end e "
	for line, want := range map[string]string{
		"settle":                    "missing argument. Usage:\n  tool settle THING [flags]",
		"settle it":                 "--made or --gone is required:\n  --made: it made the id\n  --gone: it is gone",
		"settle it --made x --gone": "--made and --gone can't be combined:\n  --made: it made the id\n  --gone: it is gone",
		"settle it --gone":          "",
		"settle it --made":          "--made needs a value: it made the id",
		"sttle it":                  "unknown command \"sttle\". Did you mean:\n  tool settle",
		"book --class c": "--end and --start are required. Usage:\n  tool book --class C --start T " +
			"--end T [flags]",
		"book --class c --start s": "--end is required. Usage:\n  tool book --class C --start T --end T [flags]",
		"book": "--class, --end and --start are required. Usage:\n  tool book --class C --start T " +
			"--end T [flags]",
		all:                    "",
		all + "--count many":   `--count "many": must be a whole number`,
		all + "--cpu much":     `--cpu "much": must be a number`,
		all + "--for ever":     `--for "ever": must be a duration, for example 90s, 15m or 2h`,
		all + "--loud=perhaps": `--loud "perhaps": must be true or false`,
		all + "--laud":         "unknown flag --laud. Did you mean --loud?",
		all + "-x":             "unknown flag -x. List the flags with:\n  tool book --help",
		"settle it -gone":      "unknown flag -gone. Did you mean --gone?",
		all + "-target=x":      "unknown flag -target. All is booked.",
		all + "--target x":     "unknown flag --target. All is booked.",
		"destroy":              "unknown command \"destroy\". Use:\n  tool settle",
		"frobnicate":           "unknown command \"frobnicate\". List the commands with:\n  tool --help",
	} {
		root := program()
		root.SetArgs(strings.Fields(line))
		got := ""
		if err := root.Execute(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", line, got, want)
		}
	}
}
