package conformance

import (
	"encoding/json"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// mutation is a block body with one thing changed.
type mutation struct {
	body []byte
	what string
	// wrong says that the schema itself forbids it. Otherwise it may be wrong by the
	// plugin's own rules.
	wrong   bool
	unknown string // the name of an attribute that was put in
}

// unknownName is an attribute that no schema has.
const unknownName = "kit_unknown_attribute"

// mutationsOf changes a good body in every way that its schema describes. A secret's
// wrong value has the canary in it, which no complaint may repeat.
func mutationsOf(schema *providerpb.Schema, good []byte, canary string) []mutation {
	s := mutator{good: good, canary: canary}
	s.block("", schema, func(root map[string]any) map[string]any { return root })
	return s.made
}

type mutator struct {
	good   []byte
	canary string
	made   []mutation
}

// change makes one body: the place gives the block within it, and do changes it.
func (s *mutator) change(place func(root map[string]any) map[string]any, one mutation, do func(block map[string]any)) {
	var root map[string]any
	if err := json.Unmarshal(s.good, &root); err != nil {
		return // newBench has refused it
	}
	block := place(root)
	if block == nil {
		return
	}
	do(block)
	var err error
	if one.body, err = json.Marshal(root); err == nil {
		s.made = append(s.made, one)
	}
}

func (s *mutator) block(path string, schema *providerpb.Schema, place func(map[string]any) map[string]any) {
	s.change(place, mutation{what: "the unknown attribute " + path + unknownName, wrong: true, unknown: unknownName},
		func(block map[string]any) { block[unknownName] = true })
	for _, one := range schema.GetAttributes() {
		s.attribute(path, one, place)
	}
	for _, nested := range schema.GetBlocks() {
		s.block(path+nested.GetName()+".", nested.GetSchema(), func(root map[string]any) map[string]any {
			outer := place(root)
			if outer == nil {
				return nil
			}
			return firstBlock(outer, nested)
		})
	}
}

// firstBlock is the first nested block of a kind, made where there is none.
func firstBlock(outer map[string]any, nested *providerpb.Block) map[string]any {
	value := outer[nested.GetName()]
	if list, isList := value.([]any); isList && len(list) > 0 {
		value = list[0]
	}
	block, there := value.(map[string]any)
	if there {
		return block
	}
	block = map[string]any{}
	outer[nested.GetName()] = block
	if nested.GetRepeated() {
		outer[nested.GetName()] = []any{block}
	}
	return block
}

func (s *mutator) attribute(path string, one *providerpb.Attribute, place func(map[string]any) map[string]any) {
	name := one.GetName()
	if one.GetRequired() {
		s.change(place, mutation{what: "no " + path + name, wrong: true}, func(block map[string]any) { delete(block, name) })
	}
	wrong := wrongValue(one.GetType())
	if one.GetSensitive() {
		wrong = []any{map[string]any{"x": s.canary}}
	}
	s.change(place, mutation{what: "a wrong type for " + path + name, wrong: true}, func(block map[string]any) {
		block[name] = wrong
	})
	for _, odd := range oddValues(one.GetType()) {
		what := fmt.Sprintf("%v for %s%s", odd, path, name)
		s.change(place, mutation{what: what}, func(block map[string]any) { block[name] = odd })
	}
}

// wrongValue is of no type that the attribute could take.
func wrongValue(t *providerpb.Type) any {
	switch t.GetKind() {
	case providerpb.Type_KIND_STRING, providerpb.Type_KIND_DURATION:
		return []any{map[string]any{}}
	default:
		return "certainly not"
	}
}

// oddValues are of the type, and the plugin's own rules may well refuse them.
func oddValues(t *providerpb.Type) []any {
	switch t.GetKind() {
	case providerpb.Type_KIND_STRING:
		return []any{"", "unknown value"}
	case providerpb.Type_KIND_INT, providerpb.Type_KIND_NUMBER:
		return []any{-1, 1 << 40}
	case providerpb.Type_KIND_DURATION:
		return []any{"-1s"}
	case providerpb.Type_KIND_LIST:
		if odd := oddValues(t.GetElement()); len(odd) > 0 {
			return []any{odd}
		}
	case providerpb.Type_KIND_MAP:
		if odd := oddValues(t.GetElement()); len(odd) > 0 {
			return []any{map[string]any{"unknown key!": odd[0]}}
		}
	}
	return nil
}
