package inventory

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

func TestTagValuesOfDifferentNamesDiffer(t *testing.T) {
	if a, b := tagValue("a/b"), tagValue("a.b"); a == b {
		t.Errorf("both are %q", a)
	}
	for _, name := range []string{"demo", "a/b", "Ü", strings.Repeat("Ü", 99), "", "team-", "-team",
		strings.Repeat("a/", 40)} {
		if got := tagValue(name); !providerpb.Label.MatchString(got) {
			t.Errorf("tagValue(%q) = %q, which is not a label", name, got)
		}
	}
	if got := tagValue("demo"); got != "demo" {
		t.Errorf("a name that fits became %q", got)
	}
}
