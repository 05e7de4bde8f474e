package config_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestPluginTestFileKeepsSecretReferences(t *testing.T) {
	text := fleet.PluginType{Kind: fleet.KindString}
	plugin := fleet.PluginSchemas{
		Name:     "acme",
		Provider: fleet.PluginSchema{Attributes: []fleet.PluginAttribute{{Name: "token", Type: text, Sensitive: true}}},
		Instance: fleet.PluginSchema{Attributes: []fleet.PluginAttribute{{Name: "size", Type: text, Default: `"s"`}}},
	}
	test, found := config.LoadPluginTest(config.Source{Name: "test.hcl", Bytes: []byte(`provider "acme" "lab" {
  token = secret("env:ACME_TOKEN")
}

test {
  env      = ["B", "A"]
  patience = "10m"

  outage {
    begin = ["down"]
    end   = ["up", "again"]
  }
}
`)}, plugin)
	if len(found) > 0 {
		t.Fatal(found)
	}
	want := config.PluginTest{
		Provider: []byte(`{"token":{"` + fleet.SecretMarker + `":"env:ACME_TOKEN"}}`),
		Instance: []byte(`{"size":"s"}`),
		Env: []string{
			"A",
			"B",
		},
		Patience:    10 * time.Minute,
		OutageBegin: []string{"down"},
		OutageEnd:   []string{"up", "again"},
	}
	if !reflect.DeepEqual(test, want) {
		t.Errorf("got %+v", test)
	}
}
