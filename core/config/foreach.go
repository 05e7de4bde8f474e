package config

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// maxFleets bounds a definition, as for_each makes many fleets out of few lines.
const maxFleets = 20_000

// forEachElement is one element of for_each.
type forEachElement struct {
	key   string
	value cty.Value
}

// forEach are the elements of a block's for_each, in the order of their keys: a
// map, or a set of texts, each of which is its own key. A list is refused, since
// its elements have no name that stays when one is taken out.
func (l *loader) forEach(block *body) []forEachElement {
	value, attribute, ok := block.value("for_each")
	switch {
	case !ok && block.isNull("for_each"):
		l.Fail(
			block.at("for_each"),
			block.where,
			"for_each can't be null",
			"It is a map, or a set of texts: toset([\"a\", \"b\"]). An empty one makes no fleet.",
		)
		return nil
	case !ok:
		return nil
	case expression.IsMapping(value),
		value.Type().IsSetType() && (value.Type().ElementType() == cty.String || value.LengthInt() == 0):
	case expression.IsSequence(value) && !value.Type().IsSetType():
		l.Fail(
			attribute.Expr.Range(),
			block.where,
			"for_each can't be a list",
			"Each fleet needs a key of its own. Write a map, or a set of texts: toset([\"a\", \"b\"]).",
		)
		return nil
	default:
		block.wrongType("for_each", "a map, or a set of texts: toset([\"a\", \"b\"])", value, attribute.Expr)
		return nil
	}
	if value.LengthInt() > maxFleets {
		l.Fail(
			attribute.Expr.Range(),
			block.where,
			"Too many fleets",
			fmt.Sprintf("A definition has at most %d fleets, and this for_each has %d elements.", maxFleets, value.LengthInt()),
		)
		return nil
	}
	var result []forEachElement
	for it := value.ElementIterator(); it.Next(); {
		key, element := it.Element()
		if key.IsNull() || key.Type() != cty.String {
			l.Fail(attribute.Expr.Range(), block.where, "A key of for_each is null", "Leave it out of the set.")
			continue
		}
		name := key.AsString()
		if !fleet.ValidKey(name) {
			at := attribute.Expr.Range()
			if item, found := expression.Item(attribute.Expr, name); found {
				at = item.KeyExpr.Range()
			}
			l.Fail(
				at,
				block.where,
				fmt.Sprintf("%q can't be a key of for_each", diagnostic.Clip(name)),
				"Keys become part of addresses: they begin with a letter or digit and hold letters, digits, '.', '-' and '_', at "+
					"most 63 of them.",
			)
			continue
		}
		result = append(result, forEachElement{name, element})
	}
	return result
}
