package inventory

import (
	"strings"
	"testing"
)

func TestTagValuesOfDifferentNamesDiffer(t *testing.T) {
	if a, b := tagValue("a/b"), tagValue("a.b"); a == b {
		t.Errorf("both are %q", a)
	}
	for _, name := range []string{"demo", "a/b", "Ü", strings.Repeat("Ü", 99), ""} {
		if got := tagValue(name); !validTag.MatchString(got) {
			t.Errorf("tagValue(%q) = %q, which is not a tag value", name, got)
		}
	}
	if got := tagValue("demo"); got != "demo" {
		t.Errorf("a name that fits became %q", got)
	}
}
