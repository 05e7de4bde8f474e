//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
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

// The page for authors is carried out by a shell, block by block, as somebody
// does who has a clone of this repository and its programs.
func TestThePageForAuthorsIsFollowedToTheLetter(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	steps := pageSteps(read(t, "../../docs/writing-a-plugin.md"))
	if len(steps) < 6 {
		t.Fatalf("the page has %d blocks to carry out", len(steps))
	}
	var script strings.Builder
	script.WriteString("set -eu\n")
	for n, step := range steps {
		fmt.Fprintf(&script, "echo '@@@ %d'\n%s", n, step.commands)
	}
	script.WriteString("echo '@@@ end'\n")
	shell := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	shell.Dir = w.dir
	shell.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "FORGEYARD="+strings.TrimSuffix(sdkFolder(t), "/plugin-sdk"), "PATH="+w.bin+":"+os.Getenv("PATH"),
		"FLEET_STATE_DIR="+w.state, "FLEET_PLUGIN_DIR="+w.plugins, "XDG_RUNTIME_DIR="+w.run)
	out, err := shell.CombinedOutput()
	said := string(out)
	if err != nil || !strings.Contains(said, "@@@ end") {
		t.Fatalf("the page can't be followed to its end: %v\n%s", err, said)
	}
	for n, step := range steps {
		_, its, _ := strings.Cut(said, fmt.Sprintf("@@@ %d\n", n))
		its, _, _ = strings.Cut(its, "@@@ ")
		for _, line := range step.shown {
			if !strings.Contains(its, strings.TrimSpace(line)) {
				t.Errorf("after\n%sthe page shows %q, and what was said is\n%s", step.commands, line, its)
			}
		}
	}
}
