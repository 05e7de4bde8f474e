package conformance_test

import (
	"fmt"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
)

var permissionsFaults = []fault{
	{rule: "policy-offline", wrong: "every policy is another one", plugin: func(p *plugin) {
		times := 0
		p.Policy = func(config, []instance, string) (string, error) {
			times++
			return fmt.Sprintf("%d actions", times), nil
		}
	}},
}

func TestAPluginThatWritesItsPolicyKeepsItsRule(t *testing.T) {
	launcher, options := lab(fault{plugin: func(p *plugin) {
		p.Policy = func(c config, instances []instance, installation string) (string, error) {
			return fmt.Sprintf("%d fleets of %s in %s\n", len(instances), installation, c.Region), nil
		}
	}})
	options.AllowCreate = false
	if result := verdicts(t, launcher, options)["policy-offline"]; result.Verdict != conformance.Pass {
		t.Errorf("%s: %s", result.Verdict, result.Reason)
	}
}
