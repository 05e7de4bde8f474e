package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
)

// The page of the command line is generated from the commands. After a change of a
// command, regenerate it:
//
//go:generate go test . -run TestCommandLinePage -update
var updateDocs = flag.Bool("update", false, "regenerate docs/cli.md")

var cliPage = filepath.Join("..", "..", "docs", "cli.md")

func TestCommandLinePageMatchesTheCommands(t *testing.T) {
	want := cliMarkdown((&app{}).root())
	if *updateDocs {
		if err := os.WriteFile(cliPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(cliPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Errorf("docs/cli.md differs from the commands; regenerate it with: go generate ./cmd/forgeyard-fleet")
	}
}

// exitCodes are the codes of terminal in words. Who adds one there adds it here:
// TestEveryExitCodeIsExplained counts them.
var exitCodes = []struct {
	code int
	when string
}{
	{terminal.ExitDone, "Success, also if there was nothing to do."},
	{terminal.ExitError, "Error; the message is on standard error."},
	{
		terminal.ExitChanges,
		"Only `plan --detailed-exitcode`: apply would change the definition, or replace or remove instances. Starting " +
			"instances to reach the desired number doesn't count as a change.",
	},
	{
		terminal.ExitUnresolved,
		"`apply`: the definition is stored, but after `--wait` something is still in progress or unknown, or needs your " +
			"action. The output says what. `reservation create`: a part isn't available.",
	},
	{terminal.ExitDeclined, "The question wasn't answered with `yes`. Nothing was changed."},
	{terminal.ExitInterrupted, "Interrupted by Ctrl-C or SIGTERM. The next `apply` continues."},
}

func TestEveryExitCodeIsExplained(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("terminal", "exit.go"))
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	for _, one := range exitCodes {
		explained[fmt.Sprint(one.code)] = true
	}
	found := regexp.MustCompile(`(?m)^\tExit[A-Z]\w*\s*= (\d+)`).FindAllStringSubmatch(string(source), -1)
	if len(found) == 0 {
		t.Fatal("no exit code was found in terminal/exit.go")
	}
	for _, one := range found {
		if !explained[one[1]] {
			t.Errorf("exit code %s is not in docs/cli.md", one[1])
		}
	}
}

func TestEveryCommandAndFlagIsDescribed(t *testing.T) {
	walk((&app{}).root(), func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s has no short description", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s has no description", c.CommandPath(), f.Name)
			}
		})
	})
}

const cliHead = `# Command line

<!-- Generated from the commands by "go generate ./cmd/forgeyard-fleet"; a test compares. -->

` + "`" + `[DIR]` + "`" + ` is a directory with fleet files (default: the current one); ` + "`--dir`" +
	` is the same for every command. All ` + "`*.hcl`" +
	` files in it are one definition. Data goes to standard output, errors, warnings and logs to standard error. ` +
	"`status`, `list`, `instance` and `token`" + ` need no fleet files if ` +
	"`--server`, `--state` or `FLEET_STATE_DIR`" +
	` names the installation. Colours are used only on a terminal, and not if ` + "`NO_COLOR`" + ` is set.

`

// cliMarkdown is the whole page.
func cliMarkdown(root *cobra.Command) string {
	var page strings.Builder
	page.WriteString(cliHead)
	for _, g := range root.Groups() {
		fmt.Fprintf(&page, "**%s**\n\n| command | |\n|---|---|\n", g.Title)
		walk(root, func(c *cobra.Command) {
			if c.Runnable() && !c.HasSubCommands() && groupOf(c) == g.ID {
				fmt.Fprintf(
					&page,
					"| [`%s`](#%s) | %s |\n",
					c.CommandPath(),
					strings.ReplaceAll(c.CommandPath(), " ", "-"),
					c.Short,
				)
			}
		})
		page.WriteString("\n")
	}
	page.WriteString("## Flags of every command\n\n")
	flagTable(&page, root.PersistentFlags())
	page.WriteString("\n## Exit codes\n\n| code | when |\n|---|---|\n")
	for _, one := range exitCodes {
		fmt.Fprintf(&page, "| %d | %s |\n", one.code, one.when)
	}
	walk(root, func(c *cobra.Command) {
		if c.Runnable() && !c.HasSubCommands() {
			commandSection(&page, c)
		}
	})
	return page.String()
}

// groupOf is the group of a command, or of the command that it is part of.
func groupOf(c *cobra.Command) string {
	for c.GroupID == "" && c.HasParent() {
		c = c.Parent()
	}
	return c.GroupID
}

func commandSection(page *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(page, "\n## %s\n\n", c.CommandPath())
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(page, "%s\n\n    %s\n", strings.ReplaceAll(text, "\n", " "), c.UseLine())
	if c.HasAvailableLocalFlags() {
		page.WriteString("\n")
		flagTable(page, c.LocalFlags())
	}
}

func flagTable(page *strings.Builder, flags *pflag.FlagSet) {
	page.WriteString("| flag | value | default | |\n|---|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		value := f.DefValue
		if kind == "stringArray" {
			kind = "string"
		}
		if value == "[]" || value == "false" {
			value = ""
		}
		fmt.Fprintf(page, "| `--%s` | %s | %s | %s |\n", f.Name, kind, value, strings.ReplaceAll(usage, "|", "\\|"))
	})
}

// walk visits the commands in the order of their names, a parent before its
// children.
func walk(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			walk(sub, visit)
		}
	}
}
