package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// asReference is the name of the block that a value refers to: a whole block of
// the given kind ("PLUGIN.NAME" for providers).
func (b *body) asReference(name, kind string, value cty.Value, expr hclsyntax.Expression) (any, bool) {
	if value.Type() != expression.ReferenceType {
		b.Fail(expr.Range(), b.where, fmt.Sprintf("%q must refer to a block", name),
			fmt.Sprintf("Got %s. %s", expression.KindOf(value), b.referenceForm(kind)))
		return nil, false
	}
	target := value.EncapsulatedValue().(*expression.BlockReference)
	if target.Kind != kind {
		b.Fail(expr.Range(), b.where, fmt.Sprintf("%q refers to the wrong kind of block", name),
			fmt.Sprintf("%s is a block of type %q. %s", target, target.Kind, b.referenceForm(kind)))
		return nil, false
	}
	return target.Name, true
}

func (b *body) referenceForm(kind string) string {
	names := b.scope.Names[kind]
	if len(names) == 0 {
		return fmt.Sprintf("Expected a reference to a %s block, without quotes.", kind)
	}
	return fmt.Sprintf("Expected a reference without quotes, such as %s.%s.", kind, slices.Min(names))
}

// asFleetAddress is the address of a fleet, which needn't be declared: fleet.NAME,
// or fleet.NAME["KEY"].
func (b *body) asFleetAddress(name string, expr hclsyntax.Expression) (any, bool) {
	traversal, problems := hcl.AbsTraversalForExpr(expr)
	if !problems.HasErrors() && traversal.RootName() == "fleet" && (len(traversal) == 2 || len(traversal) == 3) {
		label, ok := expression.NameAt(traversal, 1)
		key, indexed := "", true
		if len(traversal) == 3 {
			_, indexed = traversal[2].(hcl.TraverseIndex)
			key, _ = expression.StepName(traversal[2])
			indexed = indexed && key != ""
		}
		if address, valid := fleet.ParseFleetAddress(string(fleet.NewFleetAddress(label, key))); ok && indexed && valid {
			return address, true
		}
	}
	b.Fail(expr.Range(), b.where, fmt.Sprintf("%q must be the address of a fleet", name),
		fmt.Sprintf("Write: %s = fleet.NAME, or fleet.NAME[\"KEY\"] for one of a block with for_each.", name))
	return nil, false
}

// isNullLiteral is isNull for what may refer to something that isn't there.
func (b *body) isNullLiteral(name string) bool {
	value, ok := expression.Literal(b.syntax.Attributes[name].Expr)
	return ok && value.IsNull()
}
