package pluginhost

import (
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

func TestDigestsTravelAsLabels(t *testing.T) {
	for _, content := range []string{"", "a", "{\"size\":1}"} {
		digest := fleet.DigestBytes([]byte(content))
		label := labelOf(digest)
		if !providerpb.Label.MatchString(label) {
			t.Errorf("%s becomes %q, which is no label", digest, label)
		}
		if back := digestOfLabel(label); back != digest {
			t.Errorf("%s comes back as %s", digest, back)
		}
	}
	for _, other := range []string{"", "v1", "sha256:short", "sha256-of-something-else"} {
		if back := digestOfLabel(other); back != other {
			t.Errorf("%q is read as %q", other, back)
		}
	}
}
