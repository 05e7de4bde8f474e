package config

import (
	"strings"
	"testing"
)

func TestVarWithoutNameSuggestsNoDeclaration(t *testing.T) {
	for _, assignment := range []string{"=", "=x", " =x"} {
		_, found := Load(
			[]Source{{Name: "fleet.hcl", Bytes: []byte("forgeyard {\n  installation = \"demo\"\n}\n")}},
			Variables{Assignments: []string{assignment}},
			nil,
		)
		if text := found.Error(); !strings.Contains(text, "A --var has no name") || strings.Contains(text, "Declare it") {
			t.Errorf("--var %q: %s", assignment, text)
		}
	}
}
