//go:build linux

package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/testonly/standin"
)

var (
	// top holds all of this run, and is in the environment of all that it starts.
	top string
	// bin holds the built programs.
	bin string
)

// topVariable tells the process that runs the tests what its parent made for it.
const topVariable = "E2E_TOP"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == standinRunner { // on a host
		if err := standin.RunRunner(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if os.Getenv("E2E") == "" && os.Getenv("CI") == "" {
		fmt.Println("SKIP: these tests build the programs and take minutes; make test runs them, or go test with E2E=1")
		os.Exit(0)
	}
	if top = os.Getenv(topVariable); top == "" {
		os.Exit(guard())
	}
	os.Exit(run(m))
}

// guard runs the tests in a process of their own, which continues where it began.
func guard() int {
	fail := func(err error) int { fmt.Fprintln(os.Stderr, err); return 1 }
	top, err := os.MkdirTemp("", "e2e-") // short: sockets live below it
	if err != nil {
		return fail(err)
	}
	tests := exec.Command(os.Args[0], os.Args[1:]...)
	tests.Stdin, tests.Stdout, tests.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := guarded(tests, top); err != nil {
		return fail(err)
	}
	// Programs go; of the workspaces those whose tests failed stay, to be looked at.
	_ = os.RemoveAll(filepath.Join(top, "bin"))
	_ = os.Remove(top)
	return tests.ProcessState.ExitCode()
}

// guarded runs tests below the folder top and ends what they leave running,
// however they end: agents and jobs outlive everything by design. The error says
// why they could not begin.
func guarded(tests *exec.Cmd, top string) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	defer func() { signal.Stop(signals); close(signals) }()
	tests.Env = append(os.Environ(), topVariable+"="+top)
	tests.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what the terminal sends comes through here
	if err := tests.Start(); err != nil {
		return err
	}
	go func() {
		for s := range signals {
			_ = tests.Process.Signal(s)
		}
	}()
	_ = tests.Wait() // its state tells
	for left := carrying(top); len(left) > 0; left = carrying(top) {
		for _, p := range left {
			p.kill()
		}
	}
	return nil
}

func run(m *testing.M) int {
	if bin = os.Getenv(builtAlready); bin != "" {
		already, err := strconv.ParseInt(os.Getenv(madeAlready), 10, 64)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", madeAlready, err)
			return 1
		}
		made.Store(already)
		return m.Run()
	}
	bin = filepath.Join(top, "bin")
	err := os.Mkdir(bin, 0o755)
	if err == nil {
		err = buildAll(bin)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// The tests wait for other processes most of the time.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// buildAll builds the programs into a folder and publishes the plugins beside them.
func buildAll(dir string, flags ...string) error {
	for _, program := range []struct{ module, path, name string }{
		{"cmd", "./forgeyard-fleet", "forgeyard-fleet"},
		{"cmd", "./forgeyard-runner", "forgeyard-runner"},
		{"cmd", "./forgeyard-queue", "forgeyard-queue"},
		{"plugins/local", ".", "forgeyard-plugin-local"},
		{"plugins/manual", ".", "forgeyard-plugin-manual"},
	} {
		if err := build(
			filepath.Join("../..", program.module),
			program.path,
			filepath.Join(dir, program.name),
			flags...); err != nil {
			return err
		}
	}
	return publish(dir)
}

// publish publishes the built plugins of a folder beside them.
func publish(dir string) error {
	publish := exec.Command("../../plugins/publish.sh", dir)
	publish.Env = append(os.Environ(), "HOME="+dir, "XDG_RUNTIME_DIR=")
	if out, err := publish.CombinedOutput(); err != nil {
		return fmt.Errorf("publish the plugins of %s: %w\n%s", dir, err, out)
	}
	return nil
}

// build builds a program of a module by itself, without the workspace.
func build(module, path, to string, flags ...string) error {
	c := exec.Command(
		"go",
		append(append([]string{"build", "-trimpath", "-ldflags", "-s -w"}, flags...), "-o", to, path)...)
	c.Dir = module
	c.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s in %s: %w\n%s", path, module, err, out)
	}
	return nil
}
