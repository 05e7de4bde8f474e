package api

import (
	"strings"
	"testing"
)

// net/http said "invalid header field value" of it.
func TestATokenThatWasCopiedBadlyIsSaidSoAndNotShown(t *testing.T) {
	for _, token := range []string{"fyk_planted\n", "fyk_plan ted", "\u201cfyk_planted\u201d", "fyk_planted\x00"} {
		_, err := Dial(t.Context(), Endpoint{URL: "https://127.0.0.1:1", Token: token})
		if err == nil || !strings.Contains(err.Error(), "give it as forgeyard-fleet token create printed it") ||
			strings.Contains(err.Error(), "plan") {
			t.Errorf("%q: %v", token, err)
		}
	}
}
