package pluginstore

import (
	"errors"
	"strings"
	"testing"
)

func TestWhichVersionIsChosen(t *testing.T) {
	tags := []string{
		"0.9.0",
		"1.0.0",
		"1.4.0",
		"1.4.2",
		"1.10.0",
		"1.11.0-rc.1",
		"2.0.0",
		"2.0.1_build.7",
		"latest",
		"v3.0.0",
		"3",
		"sha256-" + strings.Repeat("a", 64),
	}
	for _, one := range []struct{ constraint, want string }{
		{"", "2.0.1+build.7"},
		{"~> 1.4", "1.10.0"},
		{"~> 1.4.0", "1.4.2"},
		{">= 1, < 1.4", "1.0.0"},
		{"= 1.4.0", "1.4.0"},
		{"1.4.0", "1.4.0"},
		{"!= 2.0.1, < 2.0.1", "2.0.0"},
		{">= 1.11.0-rc.1, < 1.11.0-rc.2", "1.11.0-rc.1"},
	} {
		if got, err := choose(tags, Required{Name: "example", Constraint: one.constraint}); err != nil || got != one.want {
			t.Errorf("%q: %s, %v; want %s", one.constraint, got, err, one.want)
		}
	}
}

func TestNoFittingVersionNamesTheNearestFive(t *testing.T) {
	tags := []string{"0.1.0", "0.2.0", "1.0.0", "1.1.0", "1.2.0", "2.0.0", "2.1.0", "3.0.0"}
	for _, one := range []struct {
		tags             []string
		constraint, want string
		says             string
	}{
		{tags, "~> 1.3", "3.0.0, 2.1.0, 2.0.0, 1.2.0, 1.1.0", "Change version"},
		{tags, "~> 9.0", "3.0.0, 2.1.0, 2.0.0, 1.2.0, 1.1.0", "Change version"},
		{tags, "< 0.1", "1.2.0, 1.1.0, 1.0.0, 0.2.0, 0.1.0", "Change version"},
		{[]string{"1.0.0"}, "~> 2.0", "1.0.0", "Change version"},
		{[]string{"1.3.0-beta.2", "1.3.0-beta.1"}, "~> 1.3", "1.3.0-beta.2, 1.3.0-beta.1", `version = "1.3.0-beta.2"`},
		{[]string{"latest"}, "~> 1.3", "", "no tag that is a version"},
	} {
		_, err := choose(one.tags, Required{Name: "example", Source: example, Constraint: one.constraint})
		var none *NoVersionError
		if !errors.As(err, &none) || strings.Join(none.Nearest, ", ") != one.want ||
			!strings.Contains(err.Error(), one.says) {
			t.Errorf("%q of %v: %v", one.constraint, one.tags, err)
		}
	}
	// The advice about a prerelease works.
	if got, err := choose(
		[]string{"1.3.0-beta.2"},
		Required{Constraint: "1.3.0-beta.2"},
	); err != nil ||
		got != "1.3.0-beta.2" {
		t.Errorf("%s, %v", got, err)
	}
}
