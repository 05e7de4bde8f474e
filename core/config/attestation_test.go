package config_test

import (
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// attesting is schemas whose plugins attest what the words say.
type attesting []string

func (a attesting) Schemas(plugin string) (fleet.PluginSchemas, error) {
	found, err := schemas{}.Schemas(plugin)
	found.Attestations = a
	return found, err
}

func loadAttested(t *testing.T, s config.SchemaSource, class string) (*config.Loaded, string) {
	t.Helper()
	text := `
capacity_class "promised" {
  trust = "standard"
` + class + `

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 1
    memory = "1GiB"
  }
}

fleet "z" {
  capacity_class = capacity_class.promised
  provider       = provider.bare.rack

  scaling {
    min = 1
    max = 1
  }
}
`
	loaded, found := config.Load(
		[]config.Source{source(t, "testdata/base.hcl"), {Name: "main.hcl", Bytes: []byte(text)}}, config.Variables{}, s)
	return loaded, rendered(t, found)
}

func TestAClassThatItsProviderCanNeverAttestIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		attests attesting
		class   string
		refused string // empty: it is taken
	}{
		"nothing to attest":           {nil, "", ""},
		"kvm of a plugin that can":    {attesting{"gpu", "kvm"}, `capabilities = ["kvm"]`, ""},
		"kvm of one that can't":       {attesting{"gpu"}, `capabilities = ["kvm"]`, "can't attest kvm"},
		"a gpu":                       {attesting{"kvm"}, `capabilities = ["gpu"]`, "can't attest gpu"},
		"confidential":                {nil, `confidential = true`, "It attests nothing"},
		"signing":                     {attesting{"kvm"}, `signing = true`, "It attests only: kvm."},
		"what a host shows by itself": {nil, `capabilities = ["docker"]`, ""},
	} {
		_, said := loadAttested(t, test.attests, test.class)
		refused := strings.Contains(said, "can't attest")
		if refused != (test.refused != "") || !strings.Contains(said, test.refused) {
			t.Errorf("%s: %s", name, said)
		}
		if refused && (!strings.Contains(said, "on main.hcl:") ||
			!strings.Contains(said, `capacity_class "promised" requires it (main.hcl:2)`)) {
			t.Errorf("%s doesn't name both lines: %s", name, said)
		}
	}
}

func TestABlockThatCantBeAttestedNamesTheClass(t *testing.T) {
	loaded, said := loadAttested(t, attesting{"kvm", "gpu"}, `capabilities = ["kvm"]`)
	if loaded == nil {
		t.Fatal(said)
	}
	f := fleetNamed(t, loaded.Definition, "z")
	path := []fleet.PathStep{{Name: "types"}}
	found := loaded.Unattestable(f, "kvm", "m7i.large isn't a metal type.", path)
	if len(found) != 1 || found[0].Warning || found[0].Path[0].Name != "types" ||
		!strings.Contains(found[0].Detail,
			`m7i.large isn't a metal type. capacity_class "promised" requires it (main.hcl:2)`) {
		t.Errorf("%+v", found)
	}
	if found := loaded.Unattestable(f, "gpu", "no gpu", path); len(found) != 0 {
		t.Errorf("the class doesn't require a gpu: %+v", found)
	}
}
