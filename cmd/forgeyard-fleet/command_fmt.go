package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/replacefile"
)

func (a *app) fmtCommand() *cobra.Command {
	var check, diff bool
	c := &cobra.Command{
		Use:   "fmt [DIR | FILE | -]...",
		Short: "Format fleet files",
		Long: "Format fleet files: two spaces for each level, aligned equals signs. Only white space changes. In a " +
			"directory all\n" +
			"*.hcl files are formatted, except the lock file. The names of changed files are printed. - formats " +
			"standard input\n" +
			"to standard output. With --check nothing is written, and the exit code is 1 if a file isn't formatted. A file\n" +
			"that doesn't parse is left unchanged and is an error.",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				dir, err := a.directory(nil)
				if err != nil {
					return err
				}
				args = []string{dir}
			} else if a.flags.dir != "" {
				return fmt.Errorf(
					"the files to format are given as an argument and with --dir %s; give only one of them",
					a.flags.dir,
				)
			}
			f := formatting{app: a, check: check, diff: diff}
			return f.all(args)
		},
	}
	c.Flags().BoolVar(&check, "check", false, "write nothing; exit with 1 if a file isn't formatted")
	c.Flags().BoolVar(&diff, "diff", false, "print the changes")
	return c
}

// formatting is one run of fmt.
type formatting struct {
	*app
	check, diff bool
	changed     bool
	found       config.Diagnostics
}

func (f *formatting) all(args []string) error {
	for _, arg := range args {
		if err := f.argument(arg); err != nil {
			return err
		}
	}
	if err := f.report(f.found); err != nil {
		return err
	}
	if f.check && f.changed {
		return terminal.ExitStatus(terminal.ExitError) // the names have been printed
	}
	return nil
}

func (f *formatting) argument(arg string) error {
	if arg == "-" {
		return f.standardInput()
	}
	info, err := os.Stat(arg)
	if err != nil {
		return fmt.Errorf("format %s: %w", arg, err)
	}
	if !info.IsDir() {
		source, err := config.ReadFile(arg)
		if err != nil {
			return err
		}
		return f.file(source)
	}
	sources, err := config.ReadDir(arg)
	if err != nil {
		return err
	}
	for _, source := range sources {
		if err := f.file(source); err != nil {
			return err
		}
	}
	return nil
}

func (f *formatting) standardInput() error {
	text, err := io.ReadAll(io.LimitReader(f.in, config.MaxSourceBytes+1))
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	formatted, ok := f.format(config.Source{Name: "standard input", Bytes: text})
	if !ok || f.check {
		return nil
	}
	if f.diff {
		return nil // it has been printed
	}
	_, err = f.out.Write(formatted)
	return err
}

// format says whether there is a normal form, and shows what differs from it.
func (f *formatting) format(source config.Source) ([]byte, bool) {
	formatted, found := config.Format(source)
	f.found = append(f.found, found...)
	if found.HasErrors() {
		return nil, false
	}
	if !bytes.Equal(formatted, source.Bytes) {
		f.changed = true
		if f.diff {
			f.printf("%s", udiff.Unified(source.Name, source.Name, string(source.Bytes), string(formatted)))
		}
	}
	return formatted, true
}

func (f *formatting) file(source config.Source) error {
	formatted, ok := f.format(source)
	if !ok || bytes.Equal(formatted, source.Bytes) {
		return nil
	}
	f.printf("%s\n", source.Name)
	if f.check {
		return nil
	}
	return replaceFile(source.Name, formatted)
}

// replaceFile puts the text in place of a file's in one step, so that a crash
// leaves the old or the new one. A link stays a link.
func replaceFile(path string, text []byte) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return replacefile.Write(target, text, info.Mode().Perm())
}
