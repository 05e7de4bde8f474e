package manual

import (
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider/providertest"
)

func TestItKeepsTheRulesOfTheContract(t *testing.T) {
	providertest.Run(t, Plugin(), providertest.Options{
		Provider: map[string]any{"host": []map[string]any{{"name": "a"}, {"name": "b"}, {"name": "c"}}},
		Assets:   []string{"a", "b", "c"}, OS: "linux", Arch: "x86_64", AllowCreate: true,
	})
}
