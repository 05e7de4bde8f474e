package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/forgeyard/forgeyard-fleet/core/config/source"
	"github.com/forgeyard/forgeyard-fleet/core/config/suggestion"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	words "github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// pluginBody is where a body that belongs to a plugin stands.
type blockSource struct {
	where  string
	header hcl.Range
	syntax *hclsyntax.Body
}

// plugin is what a required plugin says about its blocks.
type plugin struct {
	fleet.PluginSchemas
	provider, instance *declaration
}

func newPlugin(schemas fleet.PluginSchemas) *plugin {
	return &plugin{PluginSchemas: schemas, provider: fromPlugin(schemas.Provider), instance: fromPlugin(schemas.Instance)}
}

func (l *loader) readProvider(block *body) {
	plugin := l.pluginOf(block, block.labels[0])
	if plugin == nil {
		return
	}
	var own providerBlock // the manager's part, in every plugin's block
	block.read(&own)
	address := fleet.ProviderAddress(own.Plugin + "." + own.Name)
	block.scope = l.scope.WithSecrets()
	config, _ := block.pluginBody(plugin.provider)
	block.close()
	l.definition.Providers = append(
		l.definition.Providers,
		fleet.Provider{Address: address, Advertise: own.Advertise, Config: canonical(config)},
	)
	l.providerBodies[address] = blockSource{where: block.where, header: block.header, syntax: block.syntax}
}

// readInstance reads a fleet's instance block by the schema of its provider's
// plugin. A fleet without the block has an empty one, so that the plugin's
// required attributes are missed.
func (l *loader) readInstance(block *body, result *fleet.RunnerFleet) {
	instance := block.single("instance")
	if instance == nil {
		instance = &body{
			document: l.document, Collector: l.Collector, scope: l.scope, where: "instance of " + block.where,
			path:   block.path + ".instance",
			header: block.header, syntax: &hclsyntax.Body{},
		}
	}
	plugin := l.plugins[result.Provider.Plugin()]
	if plugin == nil {
		return
	}
	result.Joined, result.Market = plugin.Joined, plugin.Market
	config, immutable := instance.pluginBody(plugin.instance)
	instance.close()
	result.Instance, result.Immutable = canonical(config), canonical(immutable)
	l.instanceBodies[result.Address] = blockSource{where: instance.where, header: instance.header, syntax: instance.syntax}
}

// verifiesIdentity says whether the fleet's provider verifies which instance a host
// is. Where its plugin does and its block lacks what that takes, missing names it.
func (l *loader) verifiesIdentity(f fleet.RunnerFleet) (verifies bool, missing string) {
	plugin := l.plugins[f.Provider.Plugin()]
	if plugin == nil || !plugin.Identity {
		return false, ""
	}
	needs := plugin.IdentityNeeds
	if needs == "" {
		return true, ""
	}
	at := slices.IndexFunc(l.definition.Providers, func(p fleet.Provider) bool { return p.Address == f.Provider })
	if at < 0 {
		return false, needs
	}
	var block map[string]json.RawMessage
	if err := json.Unmarshal(l.definition.Providers[at].Config, &block); err != nil {
		panic(fmt.Sprintf("the canonical form of a provider's body isn't JSON: %v", err))
	}
	if text := string(block[needs]); text == "" || text == `""` {
		return false, needs
	}
	return true, ""
}

// setIdentity decides whether hosts enroll with evidence: by default where the
// provider verifies it.
func (l *loader) setIdentity(block *body, written *admissionBlock, result *fleet.RunnerFleet) {
	verifies, missing := l.verifiesIdentity(*result)
	wanted := ""
	if written != nil {
		wanted = written.Identity
	}
	result.Admission.Identity = ""
	if verifies {
		result.Admission.Identity = fleet.IdentityRequired
	}
	fail := func(summary, detail string) {
		admission := block.inner["admission"][0]
		admission.Fail(admission.at("identity"), admission.where, summary, detail)
	}
	switch known := l.plugins[result.Provider.Plugin()] != nil; {
	case wanted == fleet.IdentityNone && verifies:
		result.Admission.Identity = fleet.IdentityNone
	case wanted == fleet.IdentityRequired && missing != "":
		fail(
			fmt.Sprintf("The provider %q doesn't verify identities", result.Provider),
			fmt.Sprintf(
				"No instance could enroll. Write %s into its block, as the page of its plugin says, or leave identity out.",
				missing,
			),
		)
	case wanted == fleet.IdentityRequired && known && !verifies:
		fail(fmt.Sprintf("The plugin %q doesn't verify identities", result.Provider.Plugin()),
			"No instance could enroll. Leave identity out, or use a provider whose plugin verifies which instance is calling.")
	}
}

// setBatch decides how many instances one call may make. More than one takes a
// plugin that makes batches, and instances that are told apart by evidence, since
// they have one token.
func (l *loader) setBatch(block *body, size int, result *fleet.RunnerFleet) {
	plugin := l.plugins[result.Provider.Plugin()]
	if size < 2 || plugin == nil {
		return
	}
	name, one := result.Provider.Plugin(), "Leave batch out: each call then makes one instance."
	switch {
	case !plugin.Batches:
		block.Fail(block.at("batch"), block.where, fmt.Sprintf("The plugin %q makes no batches", name), one)
	case plugin.MaxBatch > 0 && size > plugin.MaxBatch:
		block.Fail(block.at("batch"), block.where, fmt.Sprintf("Invalid value %d for batch", size),
			fmt.Sprintf("The plugin %q makes at most %d instances by one call.", name, plugin.MaxBatch))
	case !result.Admission.RequiresIdentity():
		block.Fail(
			block.at("batch"),
			block.where,
			"batch needs identity = \"required\"",
			"The instances of a batch share one enrollment token and are told apart by what the provider's signature "+
				"says of each. "+
				"Write identity = \"required\" in admission, which is the default where the provider verifies identities. "+one,
		)
	default:
		result.Batch = size
	}
}

// ErrNotInstalled says that a plugin must be installed before its schemas are
// known.
var ErrNotInstalled = errors.New("the plugin isn't installed")

const installHint = "Run where the fleet files are:\n  forgeyard-fleet plugin install\n" +
	"Add --from FOLDER for plugins that you built yourself; make build puts them into bin/plugins."

// pluginOf is a plugin that a block names; nil: it can't be asked, which is
// reported at the block.
func (l *loader) pluginOf(block *body, name string) *plugin {
	at := block.header
	if !slices.Contains(l.pluginNames(), name) {
		l.Fail(
			at,
			block.where,
			fmt.Sprintf("The plugin %q is not required", name),
			strings.TrimSpace(
				fmt.Sprintf(
					"%s Add to the forgeyard block: required_plugins { %s = { source = \"…\", version = \"…\" } }",
					suggestion.For(name, "plugins", l.pluginNames()),
					name,
				),
			),
		)
		return nil
	}
	if found, asked := l.plugins[name]; asked {
		return found
	}
	l.plugins[name] = nil
	if l.schemas == nil {
		l.Fail(at, block.where, fmt.Sprintf("The plugin %q isn't installed", name), installHint)
		return nil
	}
	schemas, err := l.schemas.Schemas(name)
	if errors.Is(err, ErrNotInstalled) {
		l.Fail(at, block.where, fmt.Sprintf("The plugin %q isn't installed", name),
			source.LockFileName+" has no entry for it. "+installHint)
		return nil
	}
	if err != nil {
		l.Fail(at, block.where, fmt.Sprintf("The plugin %q can't be asked for its attributes", name),
			words.Capital(err.Error()))
		return nil
	}
	l.plugins[name] = newPlugin(schemas)
	return l.plugins[name]
}

// pluginBody reads a body by a plugin's declaration. It returns what the plugin
// gets and, of that, what can't change without replacing instances. Attributes
// that are null and have no default are left out.
func (b *body) pluginBody(d *declaration) (config, immutable map[string]any) {
	config, immutable = map[string]any{}, map[string]any{}
	for _, one := range d.attributes {
		value, ok := b.attributeValue(one)
		if !ok {
			continue
		}
		config[one.name] = onWire(value)
		if fixed := immutablePart(one, config[one.name]); fixed != nil {
			immutable[one.name] = fixed
		}
	}
	for _, nested := range d.blocks {
		var configs, immutables []any
		anyFixed := false
		for _, block := range b.find(nested) {
			inner, fixed := block.pluginBody(nested.declaration)
			block.close()
			configs, immutables = append(configs, inner), append(immutables, fixed)
			anyFixed = anyFixed || len(fixed) > 0
		}
		switch {
		case len(configs) == 0:
		case nested.repeated:
			config[nested.name] = configs
		default:
			config[nested.name] = configs[0]
		}
		switch {
		case !anyFixed:
		case nested.repeated:
			immutable[nested.name] = immutables
		default:
			immutable[nested.name] = immutables[0]
		}
	}
	return config, immutable
}

// onWire is a value in the form in which a plugin gets it as JSON.
func onWire(value any) any {
	switch value := value.(type) {
	case time.Duration:
		return value.String()
	case fleet.SecretReference:
		return map[string]any{fleet.SecretMarker: string(value)}
	case []any:
		for i := range value {
			value[i] = onWire(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = onWire(value[key])
		}
	}
	return value
}

// immutablePart is the value where its attribute is immutable, else what is
// immutable inside an object; nil: nothing is.
func immutablePart(one *attribute, value any) any {
	if one.immutable {
		return value
	}
	object, ok := value.(map[string]any)
	if one.typ.kind != fleet.KindObject || !ok {
		return nil
	}
	part := map[string]any{}
	for _, inner := range one.typ.attributes {
		if element, set := object[inner.name]; set {
			if fixed := immutablePart(inner, element); fixed != nil {
				part[inner.name] = fixed
			}
		}
	}
	if len(part) == 0 {
		return nil
	}
	return part
}

// canonical is JSON with sorted keys. Values are maps, slices, strings,
// numbers and booleans only, for which marshalling can't fail.
func canonical(value map[string]any) json.RawMessage {
	if value == nil {
		value = map[string]any{}
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("canonical form of a plugin's body: %v", err))
	}
	return text
}
