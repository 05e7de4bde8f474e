package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

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

	report     *collector
	versionAt  *hclsyntax.Attribute
	constraint version.Constraints
}

// LoadRequirements reads the forgeyard block alone. The rest of the files must
// parse, and that is all that is asked of it.
func LoadRequirements(sources []Source) (Requirements, Diagnostics) {
	l := newLoader()
	root, ok := l.parseAll(sources)
	if !ok {
		return Requirements{}, l.sorted()
	}
	block := l.forgeyardBlock(root)
	if block == nil {
		return Requirements{}, l.sorted()
	}
	requirements := l.readRequirements(block)
	return requirements, l.sorted()
}

// CheckVersion complains if the running program is not what required_version
// asks for. A prerelease counts as the release it leads to.
func (r Requirements) CheckVersion(running string) Diagnostics {
	if r.constraint == nil {
		return nil
	}
	parsed, err := version.NewVersion(running)
	if err == nil && r.constraint.Check(parsed.Core()) {
		return nil
	}
	report := newCollector()
	report.texts = r.report.texts
	report.fail(r.versionAt.Expr.Range(), "forgeyard", "This version of forgeyard-fleet doesn't fit the fleet files",
		fmt.Sprintf("They ask for %q, and this is %s. Install a version that fits, or change required_version.", r.RequiredVersion, clip(running)))
	return report.sorted()
}

// forgeyardBlock is the one forgeyard block.
func (l *loader) forgeyardBlock(root *body) *body {
	block := root.single("forgeyard")
	if block == nil {
		l.fail(root.header, "", "There is no forgeyard block",
			"Every definition has one. For example: forgeyard { installation = \"acme-ci\" }")
	}
	return block
}

// readRequirements reads what must be plain values, since nothing is known yet.
func (l *loader) readRequirements(block *body) Requirements {
	block.scope = l.scope.constants("The requirements are read before variables are known.")
	defer func() { block.scope = l.scope }()

	result := Requirements{report: l.collector, Plugins: []fleet.PluginRequirement{}}
	if text, ok := block.text("required_version"); ok {
		result.versionAt = block.attribute("required_version")
		if constraint, ok := block.versionConstraint("required_version", text, result.versionAt.Expr); ok {
			result.RequiredVersion, result.constraint = text, constraint
		}
	}
	result.Installation = l.readInstallation(block)
	plugins := block.single("required_plugins")
	if plugins == nil {
		return result
	}
	for _, attribute := range inTextOrder(plugins.syntax.Attributes) {
		plugins.attribute(attribute.Name)
		if !fleet.ValidName(attribute.Name) {
			l.fail(attribute.NameRange, plugins.where, fmt.Sprintf("%q is no valid name", clip(attribute.Name)),
				"Plugin names begin with a lower-case letter and hold lower-case letters, digits, - and _.")
			continue
		}
		result.Plugins = append(result.Plugins, plugins.requirement(attribute))
	}
	plugins.close()
	slices.SortFunc(result.Plugins, func(a, b fleet.PluginRequirement) int { return strings.Compare(a.Name, b.Name) })
	return result
}

// The installation's name goes into resource tags and the name of the
// manager's certificate, so it has no underscore.
var installationName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// readInstallation is a plain value too: commands that only look need it to find
// the state directory, and they know no variables.
func (l *loader) readInstallation(block *body) string {
	block.need("installation", "installation = \"acme-ci\"")
	name, ok := block.text("installation")
	if ok && !installationName.MatchString(name) {
		l.fail(block.at("installation"), block.where, fmt.Sprintf("%q is no valid installation name", clip(name)),
			"It begins with a lower-case letter and holds lower-case letters, digits and -, at most 63 of them: it becomes part of tags and of a certificate's name.")
	}
	return name
}

var requirementKeys = []string{"source", "version", "env", "allow_unsigned"}

// requirement reads NAME = { source = …, version = … }.
func (b *body) requirement(attribute *hclsyntax.Attribute) fleet.PluginRequirement {
	result := fleet.PluginRequirement{Name: attribute.Name}
	value, _, ok := b.value(attribute.Name)
	if !ok {
		return result
	}
	if !isMapping(value) {
		b.wrongType(attribute.Name, "a map, such as { version = \"~> 0.1\" }", value, attribute.Expr)
		return result
	}
	for key, element := range mapping(value) {
		expr := keyExpression(attribute.Expr, key)
		label := attribute.Name + "." + key
		if element.IsNull() {
			continue
		}
		switch key {
		case "source":
			result.Source = b.pluginSource(label, element, expr)
		case "version":
			if text, ok := b.asText(label, element, expr); ok {
				if _, ok := b.versionConstraint(label, text, expr); ok {
					result.Version = text
				}
			}
		case "env":
			result.Env = b.environmentNames(label, element, expr)
		case "allow_unsigned":
			if element.Type() != cty.Bool {
				b.wrongType(label, "true or false", element, expr)
				continue
			}
			result.AllowUnsigned = element.True()
		default:
			at := attribute.Expr.Range()
			if item, found := objectItem(attribute.Expr, key); found {
				at = item.KeyExpr.Range()
			}
			b.fail(at, b.where, fmt.Sprintf("Unexpected %q", clip(key)),
				fmt.Sprintf("%q is not expected in a plugin's requirement. %s", clip(key), didYouMean(key, requirementKeys)))
		}
	}
	return result
}

var pluginSourceForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$`)

func (b *body) pluginSource(label string, value cty.Value, expr hclsyntax.Expression) string {
	text, ok := b.asText(label, value, expr)
	if ok && !pluginSourceForm.MatchString(text) {
		b.fail(expr.Range(), b.where, fmt.Sprintf("%q is no plugin source: %q", label, clip(text)),
			"A source is an OCI repository in full, without a tag: HOST/PATH, such as registry.example/forgeyard/fleet-aws. The version goes into version.")
		return ""
	}
	return text
}

var environmentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (b *body) environmentNames(label string, value cty.Value, expr hclsyntax.Expression) []string {
	names, ok := b.asTexts(label, value, expr)
	if !ok {
		return nil
	}
	for i, name := range names {
		if !environmentName.MatchString(name) {
			b.fail(elementExpression(expr, i).Range(), b.where, fmt.Sprintf("%q is no name of an environment variable", clip(name)),
				"List the names alone, such as [\"AWS_PROFILE\"]; the values come from the environment.")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (b *body) versionConstraint(label, text string, expr hclsyntax.Expression) (version.Constraints, bool) {
	constraint, err := version.NewConstraint(text)
	if err != nil || strings.TrimSpace(text) == "" {
		b.fail(expr.Range(), b.where, fmt.Sprintf("%q is no version constraint: %q", label, clip(text)),
			"Constraints are like \">= 0.1\", \"~> 1.4\" or \">= 1.2, < 2\".")
		return nil, false
	}
	return constraint, true
}
