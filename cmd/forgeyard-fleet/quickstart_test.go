package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The quickstart ends with commands to paste: they must parse, be in an order that works,
// and ask nothing.
func TestQuickstartsNextCommandsWorkInTheirOrder(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "quickstart", "quickstart.sh"))
	if err != nil {
		t.Fatal(err)
	}
	_, next, _ := strings.Cut(string(text), "Try next:")
	var names []string
	for line := range strings.Lines(next) {
		words := strings.Fields(strings.TrimSpace(line))
		if len(words) == 0 || words[0] != "forgeyard-fleet" {
			continue
		}
		if end := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, ">") }); end > 0 {
			words = words[:end]
		}
		c, rest, err := (&app{}).root().Find(words[1:])
		if err != nil || !c.Runnable() || c.HasSubCommands() || c.ParseFlags(rest) != nil {
			t.Errorf("%q isn't a command: %v", line, err)
			continue
		}
		name := strings.TrimPrefix(c.CommandPath(), "forgeyard-fleet ")
		names = append(names, name)
		for _, f := range []string{"auto-approve", "trust-key"} {
			if c.Flags().Lookup(f) != nil && !c.Flags().Changed(f) {
				t.Errorf("%s would ask: pass --%s", name, f)
			}
		}
	}
	if got, want := strings.Join(names, ", "), "init, plugin install, plan, serve, apply, status"; got != want {
		t.Errorf("the commands are %s, want %s", got, want)
	}
}
