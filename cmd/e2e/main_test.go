//go:build linux

package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin holds the built programs.
var bin string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if bin, err = os.MkdirTemp("", "e2e-bin-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(bin)
	for _, program := range []struct{ module, path, name string }{
		{"cmd", "./forgeyard-fleet", "forgeyard-fleet"},
		{"cmd", "./forgeyard-runner", "forgeyard-runner"},
		{"plugins/local", ".", "forgeyard-plugin-local"},
		{"plugins/manual", ".", "forgeyard-plugin-manual"},
	} {
		if err := build(filepath.Join("../..", program.module), program.path, filepath.Join(bin, program.name)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	// The tests wait for other processes most of the time.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build builds a program of a module by itself, without the workspace.
func build(module, path, to string) error {
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", to, path)
	c.Dir = module
	c.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s in %s: %w\n%s", path, module, err, out)
	}
	return nil
}
