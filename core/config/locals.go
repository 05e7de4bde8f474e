package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
	"github.com/forgeyard/forgeyard-fleet/core/config/source"
)

// maxChain bounds how many local values may depend on each other in a row.
const maxChain = 200

// localValues evaluates locals in the order of their references.
type localValues struct {
	*loader
	declared map[string]*hclsyntax.Attribute
	values   map[string]cty.Value
	// path is the chain of locals under evaluation, to name a cycle.
	path []string
}

// readLocals gives the value of "local".
func (l *loader) readLocals(blocks []*body) cty.Value {
	locals := &localValues{loader: l, declared: map[string]*hclsyntax.Attribute{}, values: map[string]cty.Value{}}
	for _, block := range blocks {
		for _, attribute := range source.InTextOrder(block.syntax.Attributes) {
			block.attribute(attribute.Name)
			if first, twice := locals.declared[attribute.Name]; twice {
				l.Fail(attribute.NameRange, block.where, fmt.Sprintf("The local value %q is declared twice", attribute.Name),
					fmt.Sprintf("The first one is at %s. Remove or rename one of them.", diagnostic.Place(first.NameRange)))
				continue
			}
			locals.declared[attribute.Name] = attribute
			l.scope.Names["local"] = append(l.scope.Names["local"], attribute.Name)
		}
		block.close()
	}
	for _, name := range slices.Sorted(maps.Keys(locals.declared)) {
		locals.resolve(name)
	}
	return cty.ObjectVal(locals.values)
}

// resolve evaluates one local after those that it refers to. What can't be
// evaluated becomes unknown, so that what depends on it stays silent.
func (l *localValues) resolve(name string) cty.Value {
	if value, done := l.values[name]; done {
		return value
	}
	attribute := l.declared[name]
	if start := slices.Index(l.path, name); start >= 0 {
		l.reportCycle(l.path[start:])
		return cty.DynamicVal
	}
	if len(l.path) >= maxChain {
		l.Fail(attribute.NameRange, "locals", "The local values depend on each other too deeply",
			fmt.Sprintf("A chain of references may be %d long.", maxChain))
		return cty.DynamicVal
	}
	l.path = append(l.path, name)
	needed := map[string]cty.Value{}
	for _, traversal := range attribute.Expr.Variables() {
		other, ok := expression.NameAt(traversal, 1)
		if traversal.RootName() == "local" && ok && l.declared[other] != nil {
			needed[other] = l.resolve(other)
		}
	}
	l.path = l.path[:len(l.path)-1]

	value := l.evaluateLocal(attribute, needed)
	l.values[name] = value
	return value
}

func (l *localValues) evaluateLocal(attribute *hclsyntax.Attribute, needed map[string]cty.Value) cty.Value {
	variables := maps.Clone(l.scope.Context.Variables)
	variables["local"] = cty.ObjectVal(needed)
	inside := l.scope.Within(variables)
	value, ok := inside.EvaluateMarked(l.Collector, attribute.Expr, "locals")
	if !ok {
		return cty.DynamicVal
	}
	if why := expression.TooLarge(value); why != "" {
		l.Fail(attribute.Expr.Range(), "locals", fmt.Sprintf("The local value %q is too large", attribute.Name), why)
		return cty.DynamicVal
	}
	return value
}

// reportCycle names a cycle once, beginning with its first name in the
// alphabet, however it was entered.
func (l *localValues) reportCycle(cycle []string) {
	first := slices.Index(cycle, slices.Min(cycle))
	ordered := slices.Concat(cycle[first:], cycle[:first])
	chain := make([]string, 0, len(ordered)+1)
	for _, name := range append(ordered, ordered[0]) {
		chain = append(chain, "local."+name)
	}
	l.Fail(l.declared[ordered[0]].Range(), "locals", "These local values refer to each other in a cycle",
		strings.Join(chain, " → ")+". Write one of them without the others.")
}
