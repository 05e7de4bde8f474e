package manual

import (
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

func TestOnlyHostsThatAFleetMayTakeAreVouchedFor(t *testing.T) {
	config := Config{Hosts: []Host{
		{Name: "a", Attests: []string{provider.AttestSigning}, Labels: map[string]string{"room": "1"}},
		{Name: "b", Attests: []string{provider.AttestKVM}, Labels: map[string]string{"room": "2"}},
	}}
	for name, test := range map[string]struct {
		instance Instance
		missing  string
	}{
		"any host":      {Instance{}, "gpu confidential "},
		"by name":       {Instance{Hosts: []string{"b"}}, "gpu signing confidential "},
		"by label":      {Instance{Labels: map[string]string{"room": "1"}}, "kvm gpu confidential "},
		"no such label": {Instance{Labels: map[string]string{"room": "3"}}, "kvm gpu signing confidential "},
	} {
		got := ""
		for _, one := range unattestable(config, test.instance) {
			got += one.Attestation + " "
		}
		if got != test.missing {
			t.Errorf("%s: ruled out %s, want %s", name, got, test.missing)
		}
	}
}
