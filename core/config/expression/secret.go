package expression

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// SecretType is the value of secret(…). It converts to nothing, so that it can
// neither be joined to a text nor be encoded.
var SecretType = cty.Capsule("secret reference", reflect.TypeFor[fleet.SecretReference]())

// secretFunc makes a reference out of its place. The secret itself is read by
// its user, and never here.
var secretFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "place", Type: cty.String}},
	Type:   function.StaticReturnType(SecretType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		reference := fleet.SecretReference(args[0].AsString())
		if err := reference.Valid(); err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		return cty.CapsuleVal(SecretType, &reference), nil
	},
})

const SecretForms = "secret(\"env:NAME\") or secret(\"file:/path\")"

// checkSecret looks at a call of secret before it is evaluated. What is in the
// parentheses of a wrong one is not shown: it may be the secret itself.
func (s *Scope) checkSecret(report *diagnostic.Collector, call *hclsyntax.FunctionCallExpr, where string) bool {
	if !s.Secrets {
		report.FailHidden(call.NameRange, "(hidden)", where, "A secret can't stand here",
			"Only provider and scheduler blocks refer to secrets, each as the whole value of an attribute.")
		return false
	}
	wrong := len(call.Args) != 1
	if !wrong {
		value, ok := Literal(call.Args[0])
		wrong = !ok || value.IsNull() || value.Type() != cty.String || fleet.SecretReference(value.AsString()).Valid() != nil
	}
	if wrong {
		report.FailHidden(
			call.NameRange,
			"(hidden)",
			where,
			"Invalid reference to a secret",
			fmt.Sprintf(
				"Write %s. It is the name of a variable in the manager's environment, or the absolute path of a file that only "+
					"the manager's user can read; it is plain text without variables.",
				SecretForms,
			),
		)
		return false
	}
	return true
}

// CallsSecret says whether secret(…) stands anywhere in an expression.
func CallsSecret(expr hclsyntax.Expression) bool {
	found := false
	_ = hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		call, ok := node.(*hclsyntax.FunctionCallExpr)
		found = found || ok && call.Name == "secret"
		return nil
	})
	return found
}
