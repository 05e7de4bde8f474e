package config

import "github.com/forgeyard/forgeyard-fleet/core/fleet"

// fromPlugin is the declaration that a plugin's schema makes: the same reader
// reads the plugins' blocks and the core's own.
func fromPlugin(schema fleet.PluginSchema) *declaration {
	d := &declaration{attributes: attributesFromPlugin(schema.Attributes)}
	for _, block := range schema.Blocks {
		d.blocks = append(d.blocks, &nestedBlock{
			name: block.Name, doc: block.Doc, repeated: block.Repeated, declaration: fromPlugin(block.Schema),
		})
	}
	return d
}

func attributesFromPlugin(attributes []fleet.PluginAttribute) []*attribute {
	var list []*attribute
	for _, one := range attributes {
		list = append(list, &attribute{
			name: one.Name, doc: one.Doc, deprecated: one.Deprecated, standard: one.Default, typ: typeFromPlugin(one.Type),
			required: one.Required, sensitive: one.Sensitive, immutable: one.Immutable,
		})
	}
	return list
}

func typeFromPlugin(typ fleet.PluginType) valueType {
	made := valueType{kind: typ.Kind, attributes: attributesFromPlugin(typ.Attributes)}
	element := valueType{} // of no known kind, where a faulty plugin leaves it out
	if typ.Element != nil {
		element = typeFromPlugin(*typ.Element)
	}
	if typ.Kind == fleet.KindList || typ.Kind == fleet.KindMap {
		made.element = &element
	}
	return made
}
