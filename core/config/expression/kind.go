package expression

import (
	"fmt"
	"math/big"

	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
)

// KindOf is a value's kind in a user's words.
func KindOf(value cty.Value) string {
	if value.IsNull() {
		return "null"
	}
	switch kind := value.Type(); {
	case kind == cty.String:
		return fmt.Sprintf("the string %q", diagnostic.Clip(value.AsString()))
	case kind == cty.Number:
		return "the number " + NumberText(value.AsBigFloat())
	case kind == cty.Bool:
		return fmt.Sprintf("the boolean %t", value.True())
	case kind == ReferenceType:
		return "the block " + value.EncapsulatedValue().(*BlockReference).String()
	case kind == SecretType:
		return "a reference to a secret"
	case IsSequence(value):
		return "a list"
	case IsMapping(value):
		return "a map"
	default:
		return kind.FriendlyName()
	}
}

func NumberText(number *big.Float) string { return number.Text('g', 12) }
