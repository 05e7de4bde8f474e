package config

import (
	"fmt"
	"math/big"

	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
)

// kindOf is a value's kind in a user's words.
func kindOf(value cty.Value) string {
	if value.IsNull() {
		return "null"
	}
	switch kind := value.Type(); {
	case kind == cty.String:
		return fmt.Sprintf("the string %q", diagnostic.Clip(value.AsString()))
	case kind == cty.Number:
		return "the number " + numberText(value.AsBigFloat())
	case kind == cty.Bool:
		return fmt.Sprintf("the boolean %t", value.True())
	case kind == referenceType:
		return "the block " + value.EncapsulatedValue().(*blockReference).String()
	case kind == secretType:
		return "a reference to a secret"
	case isSequence(value):
		return "a list"
	case isMapping(value):
		return "a map"
	default:
		return kind.FriendlyName()
	}
}

func numberText(number *big.Float) string { return number.Text('g', 12) }
