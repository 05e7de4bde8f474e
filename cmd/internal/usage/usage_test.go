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
	root := &cobra.Command{Use: "tool", Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return nil }}
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
	Explain(root)
	return root
}

func TestNoWordOfCobraReachesWhoTyped(t *testing.T) {
	const all = "book --class c --start s --end e "
	for line, want := range map[string]string{
		"settle":                    "an argument is missing; usage: tool settle THING [flags]",
		"settle it":                 "say which with --made or --gone: --made: it made the id; --gone: it is gone",
		"settle it --made x --gone": "--made and --gone can't be given together: --made: it made the id; --gone: it is gone",
		"settle it --gone":          "",
		"settle it --made":          "--made has no value: it made the id",
		"sttle it":                  `there is no command "sttle"; there is: tool settle`,
		"book --class c":            "--end and --start are missing; usage: tool book --class C --start T --end T [flags]",
		"book --class c --start s":  "--end is missing; usage: tool book --class C --start T --end T [flags]",
		"book":                      "--class, --end and --start are missing; usage: tool book --class C --start T --end T [flags]",
		all:                         "",
		all + "--count many":        `--count "many": give a whole number`,
		all + "--cpu much":          `--cpu "much": give a number`,
		all + "--for ever":          `--for "ever": give a duration such as 90s, 15m or 2h`,
		all + "--loud=perhaps":      `--loud "perhaps": give true or false, or the flag alone`,
		all + "--laud":              "there is no flag --laud; run: tool book --help",
		all + "-x":                  "there is no flag -x; run: tool book --help",
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
