//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sdkFolder is the SDK as an author's clone has it.
func sdkFolder(t *testing.T) string {
	t.Helper()
	sdk, err := filepath.Abs("../../plugin-sdk")
	if err != nil {
		t.Fatal(err)
	}
	return sdk
}

// runIn runs a program in a folder without the workspace and without any proxy of
// modules: what a new plugin needs is what the SDK needs.
func (w *workspace) runIn(folder string, words ...string) string {
	w.t.Helper()
	c := exec.CommandContext(w.t.Context(), words[0], words[1:]...)
	c.Dir, c.Env = folder, append(os.Environ(), "GOWORK=off", "GOPROXY=off")
	out, err := c.CombinedOutput()
	if err != nil {
		w.t.Fatalf("in %s: %s: %v\n%s", folder, strings.Join(words, " "), err, out)
	}
	return string(out)
}

// The steps of a new plugin's CI are run as the workflow has them, but for what fetches
// and builds this repository.
func TestTheWorkflowOfANewPluginPasses(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	program := filepath.Join(w.bin, "forgeyard-fleet")
	w.runIn(w.dir, program, "plugin", "new", "acme", "--sdk", sdkFolder(t))
	folder := filepath.Join(w.dir, "forgeyard-plugin-acme")
	if err := os.MkdirAll(filepath.Join(w.dir, "forgeyard-fleet"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sdkFolder(t), filepath.Join(w.dir, "forgeyard-fleet", "plugin-sdk")); err != nil {
		t.Fatal(err)
	}
	steps := 0
	for line := range strings.Lines(read(t, folder, ".github/workflows/ci.yml")) {
		step, found := strings.CutPrefix(strings.TrimSpace(line), "- run: ")
		if !found || strings.Contains(step, "-o ../bin/forgeyard-fleet") {
			continue
		}
		steps++
		w.runIn(folder, "sh", "-c", strings.ReplaceAll(step, "../forgeyard-fleet/bin/forgeyard-fleet", program))
	}
	if steps != 4 {
		t.Errorf("%d steps were found, want 4", steps)
	}
}

func TestANewPluginBuildsAndKeepsEveryRuleAsItStands(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	program := filepath.Join(w.bin, "forgeyard-fleet")
	said := w.runIn(w.dir, program, "plugin", "new", "acme", "--sdk", sdkFolder(t))
	if !strings.Contains(said, "LICENSE") {
		t.Errorf("it doesn't say that the license is left to choose:\n%s", said)
	}
	folder := filepath.Join(w.dir, "forgeyard-plugin-acme")
	if lines := strings.Count(read(t, folder, "provider.go"), "\n"); lines >= 120 {
		t.Errorf("provider.go has %d lines", lines)
	}
	if unformatted := w.runIn(folder, "gofmt", "-l", "."); unformatted != "" {
		t.Errorf("gofmt would change %s", unformatted)
	}
	w.runIn(folder, "go", "vet", "./...")
	w.runIn(folder, "go", "test", "./...")
	w.runIn(folder, "go", "build", "-o", "bin/forgeyard-plugin-acme", ".")
	report := w.runIn(
		folder,
		program,
		"plugin",
		"test",
		"bin/forgeyard-plugin-acme",
		"--config",
		"testdata/plugin.hcl",
		"--allow-create",
	)
	if !strings.Contains(report, " 0 failed") || strings.Contains(report, "FAIL") {
		t.Errorf("it breaks a rule:\n%s", report)
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
