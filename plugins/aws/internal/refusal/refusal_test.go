package refusal

import (
	"slices"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

func TestEachCodeIsInTheTableOnceAndItsClassIsExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, one := range Table {
		if seen[one.Code] {
			t.Errorf("%s is there twice", one.Code)
		}
		seen[one.Code] = true
		if Does(one.Class) == "" {
			t.Errorf("%s: nothing says what the host does about its class", one.Code)
		}
	}
	if !slices.IsSortedFunc(Table, func(a, b Meaning) int {
		if a.Class != b.Class || a.Fault != b.Fault {
			return 0
		}
		return strings.Compare(a.Code, b.Code)
	}) {
		t.Error("the codes of a class aren't in order")
	}
}

// Only a refusal that is known to be one may lead to another create.
func TestWhatIsUnknownOrAFailureProvesNothing(t *testing.T) {
	for _, code := range []string{"", "SomethingNew", "InternalError", "ServiceUnavailable",
		"IdempotentParameterMismatch", "SpotMaxPriceTooLow", "RetryableError"} {
		if !Of(code).Fault {
			t.Errorf("%q is taken for a proof that nothing was made", code)
		}
	}
	if Of("InsufficientInstanceCapacity").Fault || Of("RequestLimitExceeded").Fault {
		t.Error("a refusal isn't taken for one")
	}
}

func TestWhatIsThrottledIsAskedAgainLater(t *testing.T) {
	for _, one := range Table {
		if (one.Class == provider.RateLimit) != (one.RetryAfter() > 0) {
			t.Errorf("%s: asked again after %s", one.Code, one.RetryAfter())
		}
	}
}
