package config

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/config/source"
)

func TestVarWithoutNameSuggestsNoDeclaration(t *testing.T) {
	for _, assignment := range []string{"=", "=x", " =x"} {
		_, found := Load(
			[]source.File{{Name: "fleet.hcl", Bytes: []byte("forgeyard {\n  installation = \"demo\"\n}\n")}},
			Variables{Assignments: []string{assignment}},
			nil,
		)
		if text := found.Error(); !strings.Contains(text, "A --var has no name") || strings.Contains(text, "Declare it") {
			t.Errorf("--var %q: %s", assignment, text)
		}
	}
}
