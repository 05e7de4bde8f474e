package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestMakeHelpHasEveryTarget: a target without its line would be missing in `make help`.
func TestMakeHelpHasEveryTarget(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^([a-z-]+):.* ## \S`).FindAllSubmatch(makefile, -1) {
		explained[string(line[1])] = true
	}
	targets := regexp.MustCompile(`(?m)^([a-z-]+):(?:[^=]|$)`).FindAllSubmatch(makefile, -1)
	if len(targets) < 10 {
		t.Fatalf("only %d targets were found", len(targets))
	}
	for _, target := range targets {
		if name := string(target[1]); !explained[name] {
			t.Errorf("make help lacks %s; add to its line: ## what it does", name)
		}
	}
}
