package aws

import (
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

func TestKVMIsOfMetalTypesAndNestedVirtualization(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*settings.Instance)
		can    bool
	}{
		"an ordinary type":          {func(*settings.Instance) {}, false},
		"a metal type among them":   {func(i *settings.Instance) { i.Types = []string{"c7i.large", "c7i.metal-24xl"} }, true},
		"a Mac":                     {func(i *settings.Instance) { i.Types = []string{"mac2.metal"} }, false},
		"nested virtualization":     {func(i *settings.Instance) { i.Nested = true }, true},
		"a template may turn it on": {func(i *settings.Instance) { i.Template = &settings.LaunchTemplate{Name: "x"} }, true},
	} {
		instance := block()
		test.change(&instance)
		missing := unattestable(settings.Config{}, instance)
		if can := len(missing) == 0; can != test.can {
			t.Errorf("%s: %v", name, missing)
		}
	}
}
