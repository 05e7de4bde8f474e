package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/source"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Requirements is the part of the forgeyard block that is needed before any
// plugin is known: to install plugins, and to refuse a version of this program
// that is too old for the rest.
type Requirements struct {
	// Installation names the installation, and with it the state directory.
	Installation string
	// RequiredVersion is a constraint such as ">= 0.1"; empty: none.
	RequiredVersion string
	// Plugins are sorted by name.
	Plugins []fleet.PluginRequirement

	report     *diagnostic.Collector
	versionAt  *hclsyntax.Attribute
	constraint version.Constraints
}

// LoadRequirements reads only the forgeyard block. The rest of the files must
// parse, and that is all that is asked of it.
func LoadRequirements(sources []source.File) (Requirements, diagnostic.List) {
	l := newLoader()
	root, ok := l.parseAll(sources)
	if !ok {
		return Requirements{}, l.Sorted()
	}
	block := l.forgeyardBlock(root)
	if block == nil {
		return Requirements{}, l.Sorted()
	}
	requirements := l.readRequirements(block)
	return requirements, l.Sorted()
}

// CheckVersion complains if the running program is not what required_version
// asks for. A prerelease counts as the release it leads to.
func (r Requirements) CheckVersion(running string) diagnostic.List {
	if r.constraint == nil {
		return nil
	}
	parsed, err := version.NewVersion(running)
	if err == nil && r.constraint.Check(parsed.Core()) {
		return nil
	}
	report := r.report.SameTexts()
	report.Fail(
		r.versionAt.Expr.Range(),
		"forgeyard",
		"This version of forgeyard-fleet doesn't fit the fleet files",
		fmt.Sprintf(
			"They ask for %q, and this is %s. Install a version that fits, or change required_version.",
			r.RequiredVersion,
			diagnostic.Clip(running),
		),
	)
	return report.Sorted()
}

// forgeyardBlock is the one forgeyard block.
func (l *loader) forgeyardBlock(root *body) *body {
	block := root.single("forgeyard")
	if block == nil {
		l.Fail(root.header, "", "Missing forgeyard block",
			"Every definition has one. For example: forgeyard { installation = \"acme-ci\" }")
	}
	return block
}

// readRequirements reads what must be plain values, since nothing is known yet.
func (l *loader) readRequirements(block *body) Requirements {
	block.scope = l.scope.Constants("The requirements are read before variables are known.")
	defer func() { block.scope = l.scope }()

	var written forgeyardBlock
	block.postponed = []string{"manager"}
	block.read(&written)
	result := Requirements{report: l.Collector, Plugins: []fleet.PluginRequirement{}, Installation: written.Installation}
	if block.given("required_version") {
		result.versionAt, result.RequiredVersion = block.attribute("required_version"), written.RequiredVersion
		result.constraint, _ = version.NewConstraint(written.RequiredVersion)
	}
	for _, one := range written.RequiredPlugins {
		result.Plugins = append(result.Plugins, fleet.PluginRequirement(one))
	}
	slices.SortFunc(result.Plugins, func(a, b fleet.PluginRequirement) int { return strings.Compare(a.Name, b.Name) })
	return result
}
