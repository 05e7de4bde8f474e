package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// starter is the fleet file that init writes: two runners on this machine.
//
//go:embed starter.hcl
var starter string

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first fleet file with two runners on this machine",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := a.directory(args)
			if err != nil {
				return err
			}
			if _, err := config.ReadDir(dir); err == nil {
				return fmt.Errorf("%s already has fleet files; nothing was written", dir)
			} else if !errors.Is(err, config.ErrNoSources) && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("create the directory: %w", err)
			}
			path := filepath.Join(dir, "fleet.hcl")
			here := fleet.PlatformOf(runtime.GOOS, runtime.GOARCH)
			starting := strings.NewReplacer("@OS@", here.OS, "@ARCH@", here.Arch).Replace(starter)
			file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err != nil {
				return fmt.Errorf("write the fleet file: %w", err)
			}
			if _, err := file.WriteString(starting); err != nil {
				return errors.Join(fmt.Errorf("write %s: %w", path, err), file.Close())
			}
			if err := file.Close(); err != nil {
				return fmt.Errorf("write %s: %w", path, err)
			}
			a.printf(
				"Wrote %s: two runners on this machine.\n\nNext steps:\n  forgeyard-fleet plugin install --dir %[2]s --from "+
					"BIN/plugins\n  forgeyard-fleet plan %[2]s\n  forgeyard-fleet apply %[2]s\n\nBIN is the directory of the "+
					"programs that make build built; there is no release yet.\n",
				path,
				text.ShellQuote(dir),
			)
			return nil
		},
	}
}
