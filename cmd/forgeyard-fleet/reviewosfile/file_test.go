package reviewosfile

import (
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/scheduler/reviewos"
)

// FuzzParse: whatever is in a file, nothing panics.
func FuzzParse(f *testing.F) {
	f.Add([]byte(
		"pools:\n- name: Deployment\n  require_signed_steps: true\n  queues:\n  - name: linux\n    state: paused\n    " +
			"reason: waits\n  repositories: [acme/api]\n"))
	f.Add([]byte("pools: &a [*a]\n"))
	f.Add([]byte("pools:\n- queues:\n  - {}\n"))
	f.Fuzz(func(_ *testing.T, content []byte) {
		file, err := parse("fleet.yml", content)
		if err == nil {
			Changes(file, reviewos.Shape{})
		}
	})
}
