package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var offlineRules = []Rule{
	{
		Name: "validate-offline", check: validateOffline,
		Says: "Validate takes good blocks before Configure and without a network.",
	},
	{
		Name: "bad-blocks-refused", check: badBlocksRefused,
		Says: "Validate refuses a missing or unknown attribute and a value of the wrong type.",
	},
	{
		Name: "error-paths-exist", check: errorPathsExist,
		Says: "The path of every complaint leads to something that the schema has.",
	},
}

// validate asks about one provider body and instance bodies by name; nil
// bodies aren't asked about.
func validate(ctx context.Context, running Running, provider []byte, instances map[string][]byte) (
	*providerpb.ValidateResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, shortCall)
	defer cancel()
	client := providerpb.NewProviderClient(running.Connection())
	response, err := client.Validate(ctx, &providerpb.ValidateRequest{ProviderJson: provider, InstanceJson: instances})
	if err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	for name := range response.GetInstances() {
		if _, asked := instances[name]; !asked {
			return nil, fmt.Errorf("validate: it complains about the instance block of %q, which it wasn't asked about", name)
		}
	}
	return response, nil
}

func validateOffline(ctx context.Context, b *bench) error {
	if b.info == nil {
		return errNoInfo
	}
	running, err := b.fresh(ctx, true)
	if err != nil {
		return err
	}
	defer func() { _ = b.stop() }() // it has no network
	response, err := validate(ctx, running, b.options.Provider,
		map[string][]byte{"one": b.options.Instance, "two": b.options.Instance})
	if err != nil {
		b.cannotValidate = "its blocks can't be validated offline"
		return fmt.Errorf("%w (within %s, before Configure)", err, shortCall)
	}
	if trap, watched := running.(Trap); watched && len(trap.Reached()) > 0 {
		return fmt.Errorf("it connects to %s", strings.Join(trap.Reached(), ", "))
	}
	complaints := response.GetProvider()
	for _, list := range response.GetInstances() {
		complaints = append(complaints, list.GetItems()...)
	}
	for _, complaint := range complaints {
		if isError(complaint) {
			return fmt.Errorf("it refuses the blocks of the test: %s", textOf(complaint))
		}
	}
	return nil
}

// complaint is what a plugin said about a changed body.
type complaint struct {
	mutation
	block  string // "provider" or "instance"
	schema *providerpb.Schema
	found  []*providerpb.Diagnostic
}

// complaints has the plugin validate every changed body.
func (b *bench) complaints(ctx context.Context) ([]complaint, error) {
	switch {
	case b.info == nil:
		return nil, errNoInfo
	case b.cannotValidate != "":
		return nil, leftOut(b.cannotValidate)
	}
	running, err := b.started(ctx)
	if err != nil {
		return nil, err
	}
	var all []complaint
	for _, bad := range mutationsOf(b.info.GetProviderSchema(), b.options.Provider, b.token) {
		response, err := validate(ctx, running, bad.body, nil)
		if err != nil {
			return nil, fmt.Errorf("provider block with %s: %w", bad.what, err)
		}
		all = append(all, complaint{bad, "provider", b.info.GetProviderSchema(), response.GetProvider()})
	}
	for _, bad := range mutationsOf(b.info.GetInstanceSchema(), b.options.Instance, b.token) {
		response, err := validate(ctx, running, nil, map[string][]byte{"one": bad.body})
		if err != nil {
			return nil, fmt.Errorf("instance block with %s: %w", bad.what, err)
		}
		all = append(all, complaint{bad, "instance", b.info.GetInstanceSchema(), response.GetInstances()["one"].GetItems()})
	}
	return all, nil
}

func badBlocksRefused(ctx context.Context, b *bench) error {
	all, err := b.complaints(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		refused := false
		for _, diagnostic := range one.found {
			refused = refused || isError(diagnostic)
		}
		if one.wrong && !refused {
			return fmt.Errorf("it takes the %s block with %s", one.block, one.what)
		}
	}
	return nil
}

func errorPathsExist(ctx context.Context, b *bench) error {
	all, err := b.complaints(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		for _, diagnostic := range one.found {
			if err := follow(one.schema, diagnostic.GetPath(), one.unknown); err != nil {
				return fmt.Errorf("the complaint %q about the %s block with %s has a path that leads nowhere: %w",
					diagnostic.GetSummary(), one.block, one.what, err)
			}
			if text := textOf(diagnostic); strings.Contains(text, b.token) {
				return fmt.Errorf("the complaint about the %s block with %s repeats the value of a sensitive attribute", one.block,
					one.what)
			}
		}
	}
	return nil
}

// follow walks a path through a schema. unknown is an attribute that was put in,
// and may be complained about by its name.
func follow(schema *providerpb.Schema, path []*providerpb.Diagnostic_Step, unknown string) error {
	whole := pathText(path)
	lost := func(why string) error { return fmt.Errorf("%s (%s)", whole, why) }
	attributes, blocks := schema.GetAttributes(), schema.GetBlocks()
	for len(path) > 0 {
		name := path[0].GetName()
		if name == "" {
			return lost("an index where a name belongs")
		}
		if name == unknown {
			return nil
		}
		path = path[1:]
		if block := blockNamed(blocks, name); block != nil {
			if len(path) > 0 && path[0].GetName() == "" {
				if !block.GetRepeated() && path[0].GetIndex() != 0 {
					return lost(name + " is a single block")
				}
				path = path[1:]
			}
			attributes, blocks = block.GetSchema().GetAttributes(), block.GetSchema().GetBlocks()
			continue
		}
		attribute := attributeNamed(attributes, name)
		if attribute == nil {
			return lost("the schema has no " + name)
		}
		object, err := followValue(attribute.GetType(), &path)
		if err != nil {
			return lost(err.Error())
		}
		if object == nil {
			return nil
		}
		attributes, blocks = object.GetAttributes(), nil
	}
	return nil
}

// followValue goes through lists and maps; what is left of the path belongs to
// the object, if there is one.
func followValue(t *providerpb.Type, path *[]*providerpb.Diagnostic_Step) (object *providerpb.Type, err error) {
	for len(*path) > 0 {
		step := (*path)[0]
		switch t.GetKind() {
		case providerpb.Type_KIND_OBJECT:
			return t, nil
		case providerpb.Type_KIND_LIST:
			if step.GetName() != "" {
				return nil, errors.New("a list has an index, and no name " + step.GetName())
			}
		case providerpb.Type_KIND_MAP:
			if step.GetName() == "" {
				return nil, errors.New("a map has names, and no index")
			}
		default:
			return nil, errors.New("it goes into a value that has no parts")
		}
		t, *path = t.GetElement(), (*path)[1:]
	}
	return nil, nil
}

func blockNamed(blocks []*providerpb.Block, name string) *providerpb.Block {
	for _, block := range blocks {
		if block.GetName() == name {
			return block
		}
	}
	return nil
}

func attributeNamed(attributes []*providerpb.Attribute, name string) *providerpb.Attribute {
	for _, one := range attributes {
		if one.GetName() == name {
			return one
		}
	}
	return nil
}

func pathText(path []*providerpb.Diagnostic_Step) string {
	var text strings.Builder
	for i, step := range path {
		switch {
		case step.GetName() == "":
			fmt.Fprintf(&text, "[%d]", step.GetIndex())
		case i > 0:
			text.WriteString("." + step.GetName())
		default:
			text.WriteString(step.GetName())
		}
	}
	return text.String()
}
