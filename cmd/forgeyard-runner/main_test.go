package main

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/agent"
)

// build makes the binary as a release does.
func build(t *testing.T, goos, goarch string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "forgeyard-runner-"+goos+"-"+goarch)
	cmd := exec.Command(
		"go",
		"build",
		"-trimpath",
		"-ldflags",
		"-s -w -X github.com/forgeyard/forgeyard-fleet/cmd/internal/version.Version=9.8.7",
		"-o",
		path,
		".",
	)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build for %s-%s: %v\n%s", goos, goarch, err, out)
	}
	return path
}

func TestTheBinaryBuildsForEveryTargetAndStaysSmall(t *testing.T) {
	targets := []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64", "windows-arm64"}
	if testing.Short() {
		targets = targets[:1]
	}
	const most = 15 << 20
	for _, target := range targets {
		t.Run(target, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(target, "-")
			path := build(t, goos, goarch)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%.1f MiB", float64(info.Size())/(1<<20))
			if info.Size() >= most {
				t.Errorf("the binary has %d bytes, over %d", info.Size(), most)
			}
			if goos == "linux" {
				isStatic(t, path)
			}
			if goos == runtime.GOOS && goarch == runtime.GOARCH {
				out, err := exec.Command(path, "--version").Output()
				if want := "forgeyard-runner 9.8.7 " + target + "\n"; err != nil || string(out) != want {
					t.Errorf("--version prints %q, %v", out, err)
				}
			}
		})
	}
}

// isStatic checks that the program needs no loader and no library of the host.
func isStatic(t *testing.T, path string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil || len(libraries) > 0 {
		t.Errorf("it needs %v, %v", libraries, err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("it needs a dynamic loader")
		}
	}
}

func TestTheBinaryLinksOnlyWhatAHostNeeds(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const own = "github.com/forgeyard/forgeyard-fleet/"
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		first, _, _ := strings.Cut(name, "/")
		switch {
		case !strings.Contains(first, "."): // the standard library
		case strings.HasPrefix(name, "golang.org/x/sys/"):
		case name == own+"core/agent",
			name == own+"core/agentapi",
			name == own+"core/plainjson",
			name == own+"core/replacefile",
			strings.HasPrefix(name, own+"core/agent/"),
			name == own+"core/queue/worker",
			name == own+"plugin-sdk/bootstrap",
			strings.HasPrefix(name, own+"cmd/"):
		default:
			t.Errorf("the agent links %s", name)
		}
	}
}

func TestTheExitCodeTellsWhoStartsItWhetherToTryAgain(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for code, err := range map[int]error{
		exitDone:    &agent.AlreadyRunningError{LockFile: "lock", PID: "1"},
		exitRefused: fmt.Errorf("enroll: %w", &agent.RefusedError{Code: "token_expired"}),
		exitFailed:  errors.New("the disk is full"),
	} {
		if got := exitCode(log, err); got != code {
			t.Errorf("%v exits with %d, want %d", err, got, code)
		}
	}
}

func TestCallsThatAreWrongSaySo(t *testing.T) {
	folder := t.TempDir()
	broken := filepath.Join(folder, "broken.json")
	if err := os.WriteFile(broken, []byte(`{"token":"fyt1.secret"`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no bootstrap", nil, exitUsage, "--bootstrap FILE"},
		{"an unknown flag", []string{"--frobnicate"}, exitUsage, "frobnicate"},
		{"a word too many", []string{"--bootstrap", broken, "now"}, exitUsage, `unexpected argument "now"`},
		{"a bootstrap that isn't there", []string{"--bootstrap", filepath.Join(folder, "none")}, exitFailed, "no such file"},
		{"a broken bootstrap", []string{"--bootstrap", broken}, exitFailed, "broken.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(context.Background(), c.args, &out, &errs); code != c.code {
				t.Errorf("it exits with %d, want %d", code, c.code)
			}
			if !strings.Contains(errs.String(), c.says) || strings.Contains(errs.String(), "secret") {
				t.Errorf("it says %s", errs.String())
			}
		})
	}
}
