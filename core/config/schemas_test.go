package config_test

import (
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// schemas are two plugins: "cloud", which uses every kind of value, and "bare",
// which has nothing to set. Both attest whatever can be.
type schemas struct{}

var everyAttestation = []string{"confidential", "gpu", "kvm", "signing"}

func (schemas) Schemas(plugin string) (fleet.PluginSchemas, error) {
	switch plugin {
	case "cloud":
		return cloudSchemas, nil
	case "bare":
		return fleet.PluginSchemas{Name: "bare", Version: "0.1.0", Attestations: everyAttestation}, nil
	default:
		return fleet.PluginSchemas{}, config.ErrNotInstalled
	}
}

func kind(of fleet.PluginTypeKind) fleet.PluginType { return fleet.PluginType{Kind: of} }

func listOf(of fleet.PluginTypeKind) fleet.PluginType {
	element := kind(of)
	return fleet.PluginType{Kind: fleet.KindList, Element: &element}
}

func mapOf(of fleet.PluginTypeKind) fleet.PluginType {
	element := kind(of)
	return fleet.PluginType{Kind: fleet.KindMap, Element: &element}
}

var cloudSchemas = fleet.PluginSchemas{
	Name: "cloud", Version: "0.1.3", Attestations: everyAttestation,
	Provider: fleet.PluginSchema{Attributes: []fleet.PluginAttribute{
		{Name: "region", Type: kind(fleet.KindString), Required: true},
		{Name: "zone", Type: kind(fleet.KindString), Deprecated: "Use region."},
		{Name: "token", Type: kind(fleet.KindString), Sensitive: true},
		{Name: "retry", Type: kind(fleet.KindDuration), Default: `"90s"`},
	}},
	Instance: fleet.PluginSchema{
		Attributes: []fleet.PluginAttribute{
			{Name: "types", Type: listOf(fleet.KindString), Required: true, Immutable: true},
			{Name: "subnets", Type: listOf(fleet.KindString)},
			{Name: "network", Type: kind(fleet.KindString)},
			{Name: "cpus", Type: kind(fleet.KindInt), Default: "2", Immutable: true},
			{Name: "ratio", Type: kind(fleet.KindNumber)},
			{Name: "spot", Type: kind(fleet.KindBool), Default: "false"},
			{Name: "boot", Type: kind(fleet.KindDuration)},
			{Name: "labels", Type: mapOf(fleet.KindString)},
			{Name: "options", Type: mapOf(fleet.KindInt)},
			{Name: "shape", Type: fleet.PluginType{Kind: fleet.KindObject, Attributes: []fleet.PluginAttribute{
				{Name: "cores", Type: kind(fleet.KindInt), Required: true, Immutable: true},
				{Name: "threads", Type: kind(fleet.KindInt), Default: "1"},
			}}},
		},
		Blocks: []fleet.PluginBlock{
			{Name: "disk", Repeated: true, Schema: fleet.PluginSchema{Attributes: []fleet.PluginAttribute{
				{Name: "size", Type: kind(fleet.KindInt), Required: true, Immutable: true},
				{Name: "kind", Type: kind(fleet.KindString), Default: `"fast"`},
			}}},
			{Name: "console", Schema: fleet.PluginSchema{Attributes: []fleet.PluginAttribute{
				{Name: "port", Type: kind(fleet.KindInt), Default: "22"},
			}}},
		},
	},
}
