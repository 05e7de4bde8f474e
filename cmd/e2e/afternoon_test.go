//go:build linux

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// pageStep is one block of a page that is carried out, with what the page shows of its
// output.
type pageStep struct {
	commands string
	shown    []string
}

// pageSteps are the blocks of a page in order: "sh" is carried out, and a "text"
// after it is some of what was said.
func pageSteps(page string) []pageStep {
	var found []pageStep
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		language, opens := strings.CutPrefix(lines[i], "```")
		if !opens {
			continue
		}
		begin := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		switch block := lines[begin:i]; {
		case language == "sh":
			found = append(found, pageStep{commands: strings.Join(block, "\n") + "\n"})
		case language == "text" && len(found) > 0:
			found[len(found)-1].shown = block
		}
	}
	return found
}

// follow carries out a page by a shell, block by block, and compares what it shows with
// what was said. variables are added to those of the workspace.
func (w *workspace) follow(page string, variables ...string) {
	w.t.Helper()
	steps := pageSteps(page)
	if len(steps) < 6 {
		w.t.Fatalf("the page has %d blocks to carry out", len(steps))
	}
	var script strings.Builder
	script.WriteString("set -eu\n")
	for n, step := range steps {
		fmt.Fprintf(&script, "echo '@@@ %d'\n%s", n, step.commands)
	}
	script.WriteString("echo '@@@ end'\n")
	shell := exec.CommandContext(w.t.Context(), "bash", "-c", script.String())
	shell.Dir = w.dir
	shell.Env = slices.Concat(os.Environ(), []string{
		"PATH=" + w.bin + ":" + os.Getenv("PATH"),
		"FLEET_STATE_DIR=" + w.state, "FLEET_PLUGIN_DIR=" + w.plugins, "XDG_RUNTIME_DIR=" + w.run,
	}, variables)
	shell.WaitDelay = patience // what it left in the background may hold its output open
	out, err := shell.CombinedOutput()
	said := string(out)
	if err != nil || !strings.Contains(said, "@@@ end") {
		w.t.Fatalf("the page can't be followed to its end: %v\n%s", err, said)
	}
	for n, step := range steps {
		_, its, _ := strings.Cut(said, fmt.Sprintf("@@@ %d\n", n))
		its, _, _ = strings.Cut(its, "@@@ ")
		for _, line := range step.shown {
			if !strings.Contains(its, strings.TrimSpace(line)) {
				w.t.Errorf("after\n%sthe page shows %q, and what was said is\n%s", step.commands, line, its)
			}
		}
	}
}

// The page for authors is followed as somebody does who has a clone of this
// repository and its programs.
func TestThePageForAuthorsIsFollowedToTheLetter(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.follow(read(t, "../../docs/writing-a-plugin.md"),
		"GOWORK=off", "GOPROXY=off", "FORGEYARD="+strings.TrimSuffix(sdkFolder(t), "/plugin-sdk"))
}

// The tutorial, at a port of its own.
func TestTutorialIsFollowedToTheLetter(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(read(t, "../../docs/tutorial.md"), "127.0.0.1:8640", address)
	w.follow(page, "BIN="+w.bin, "FLEET_VAR_arch="+fleet.PlatformOf(runtime.GOOS, runtime.GOARCH).Arch)
	if left := w.processes(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}
