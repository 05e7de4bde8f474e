package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
)

// valueUnlessSensitive is value for an attribute that must be a secret
// reference: whatever is wrong with it is told without showing it.
func (b *body) valueUnlessSensitive(name string) (cty.Value, *hclsyntax.Attribute, bool) {
	attribute := b.attribute(name)
	if attribute == nil {
		return cty.NilVal, nil, false
	}
	if expression.CallsSecret(attribute.Expr) {
		return b.value(name)
	}
	if b.isNull(name) {
		return cty.NilVal, attribute, false
	}
	b.mustRefer(name, attribute)
	return cty.NilVal, attribute, false
}

func (b *body) mustRefer(name string, attribute *hclsyntax.Attribute) {
	detail := fmt.Sprintf(
		"A secret is never written into a fleet file, nor given by a variable: it would be stored. Write: %s = %s.",
		name,
		expression.SecretForms,
	)
	if !b.scope.Secrets {
		detail = "Secrets belong to provider and scheduler blocks, and this is neither. Leave it out here."
	}
	b.FailHidden(attribute.NameRange, " = (hidden)", b.where, fmt.Sprintf("%q is a secret", name), detail)
}
