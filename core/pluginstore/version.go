package pluginstore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"
)

// nearestVersions is how many versions are named when none fits.
const nearestVersions = 5

// tagOf is the tag of a version: a tag can't hold a "+".
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

// versionOf is the version that a tag names; nil: it names none.
func versionOf(tag string) *version.Version {
	v, err := version.NewSemver(strings.Replace(tag, "_", "+", 1))
	if err != nil || tagOf(v.String()) != tag {
		return nil // such as "latest", "v1.2", "1.2" or a digest's
	}
	return v
}

// constraintOf reads a constraint; nil takes every version that is no
// prerelease.
func constraintOf(text string) (version.Constraints, error) {
	if text == "" {
		return nil, nil
	}
	constraint, err := version.NewConstraint(text)
	if err != nil {
		return nil, fmt.Errorf("invalid version constraint %q in required_plugins: write one such as \"~> 1.2\"", text)
	}
	return constraint, nil
}

// fits says whether a version may be used under a constraint.
func fits(text, constraint string) bool {
	v, err := version.NewSemver(text)
	if err != nil {
		return false
	}
	wanted, err := constraintOf(constraint)
	return err == nil && (wanted == nil || wanted.Check(v))
}

// older compares two versions; what is none is older than nothing.
func older(text, than string) bool {
	v, err := version.NewSemver(text)
	if err != nil {
		return false
	}
	other, err := version.NewSemver(than)
	return err == nil && v.LessThan(other)
}

// choose is the newest of the tags that the constraint takes.
func choose(tags []string, r Required) (string, error) {
	wanted, err := constraintOf(r.Constraint)
	if err != nil {
		return "", err
	}
	var all []*version.Version
	for _, tag := range tags {
		if v := versionOf(tag); v != nil {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b *version.Version) int { return b.Compare(a) })
	prerelease := ""
	for _, v := range all {
		if wanted == nil && v.Prerelease() == "" || wanted != nil && wanted.Check(v) {
			return v.String(), nil
		}
		if prerelease == "" && v.Prerelease() != "" && (wanted == nil || wanted.Check(v.Core())) {
			prerelease = v.String()
		}
	}
	return "", &NoVersionError{
		Plugin:     r.Name,
		Source:     r.Source,
		Constraint: r.Constraint,
		Nearest:    nearest(all, wanted),
		Prerelease: prerelease,
	}
}

// nearest are the versions next to what a constraint asks for, the newest first:
// those on both sides of the first version that it names.
func nearest(all []*version.Version, wanted version.Constraints) []string {
	at := 0
	if bound := firstBound(wanted); bound != nil {
		at = slices.IndexFunc(all, func(v *version.Version) bool { return v.LessThan(bound) })
		if at < 0 {
			at = len(all)
		}
	}
	from := max(0, min(at-(nearestVersions+1)/2, len(all)-nearestVersions))
	var names []string
	for _, v := range all[from:min(from+nearestVersions, len(all))] {
		names = append(names, v.String())
	}
	return names
}

// firstBound is the first version in a constraint's text.
func firstBound(wanted version.Constraints) *version.Version {
	for _, one := range wanted {
		if v, err := version.NewVersion(strings.TrimLeft(one.String(), "=!<>~ ")); err == nil {
			return v
		}
	}
	return nil
}
