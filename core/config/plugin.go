package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// pluginBody is where a body that belongs to a plugin stands.
type pluginBody struct {
	where  string
	header hcl.Range
	syntax *hclsyntax.Body
}

func (l *loader) readProvider(block *body) {
	plugin, name := block.labels[0], block.labels[1]
	address := fleet.ProviderAddress(plugin + "." + name)
	schemas := l.schemasOf(block, plugin)
	if schemas == nil {
		return
	}
	advertise := block.httpsURL("advertise") // the manager's own, in every plugin's block
	block.scope = l.scope.withSecrets()
	config, _ := block.pluginBody(plugin, schemas.Provider)
	block.close()
	l.definition.Providers = append(l.definition.Providers, fleet.Provider{Address: address, Advertise: advertise, Config: canonical(config)})
	l.providerBodies[address] = pluginBody{where: block.where, header: block.header, syntax: block.syntax}
}

// readInstance reads a fleet's instance block by the schema of its provider's
// plugin. A fleet without the block has an empty one, so that the plugin's
// required attributes are missed.
func (l *loader) readInstance(block *body, result *fleet.RunnerFleet) {
	instance := block.single("instance")
	if instance == nil {
		instance = &body{
			collector: l.collector, scope: l.scope, where: "instance of " + block.where,
			header: block.header, syntax: &hclsyntax.Body{},
		}
	}
	schemas := l.pluginSchemas[result.Provider.Plugin()]
	if schemas == nil {
		return
	}
	result.Joined, result.Market = schemas.Joined, schemas.Market
	config, immutable := instance.pluginBody(result.Provider.Plugin(), schemas.Instance)
	instance.close()
	result.Instance, result.Immutable = canonical(config), canonical(immutable)
	l.instanceBodies[result.Address] = pluginBody{where: instance.where, header: instance.header, syntax: instance.syntax}
}

// verifiesIdentity says whether the fleet's provider verifies which instance a host
// is. Where its plugin does and its block lacks what that takes, missing names it.
func (l *loader) verifiesIdentity(f fleet.RunnerFleet) (verifies bool, missing string) {
	schemas := l.pluginSchemas[f.Provider.Plugin()]
	if schemas == nil || !schemas.Identity {
		return false, ""
	}
	needs := schemas.IdentityNeeds
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

// readIdentity reads whether hosts enroll with evidence, which takes a provider that
// verifies it.
func (l *loader) readIdentity(admission *body, result *fleet.RunnerFleet) {
	wanted, ok := admission.oneOf("identity", fleet.IdentityRequired, fleet.IdentityNone)
	if !ok {
		return
	}
	verifies, missing := l.verifiesIdentity(*result)
	switch known := l.pluginSchemas[result.Provider.Plugin()] != nil; {
	case wanted == fleet.IdentityNone && verifies:
		result.Admission.Identity = fleet.IdentityNone
	case wanted == fleet.IdentityRequired && missing != "":
		admission.fail(admission.at("identity"), admission.where, fmt.Sprintf("The provider %q verifies no identity", result.Provider),
			fmt.Sprintf("No host could enroll. Write %s into its block, as the page of its plugin says, or leave identity out.", missing))
	case wanted == fleet.IdentityRequired && known && !verifies:
		admission.fail(admission.at("identity"), admission.where, fmt.Sprintf("The plugin %q verifies no identity", result.Provider.Plugin()),
			"No host could enroll. Leave identity out, or use a provider whose plugin verifies which instance a host is.")
	}
}

// mostBatch bounds a batch whatever its plugin takes: it is made whole or not at all.
const mostBatch = 100

// readBatch reads how many instances one call may make. That takes a plugin that makes
// batches, and hosts that are told apart by evidence, since they have one token.
func (l *loader) readBatch(block *body, result *fleet.RunnerFleet) {
	size, ok := block.count("batch", 1, mostBatch)
	schemas := l.pluginSchemas[result.Provider.Plugin()]
	if !ok || size == 1 || schemas == nil {
		return
	}
	plugin, one := result.Provider.Plugin(), "Leave batch out: each call then makes one instance."
	switch {
	case !schemas.Batches:
		block.fail(block.at("batch"), block.where, fmt.Sprintf("The plugin %q makes no batches", plugin), one)
	case schemas.MaxBatch > 0 && size > schemas.MaxBatch:
		block.fail(block.at("batch"), block.where, fmt.Sprintf("\"batch\" can't be %d", size), fmt.Sprintf("The plugin %q makes at most %d instances by one call.", plugin, schemas.MaxBatch))
	case !result.Admission.RequiresIdentity():
		block.fail(block.at("batch"), block.where, "The hosts of a batch can't be told apart without evidence",
			"They share one bootstrap document and its token, and enroll by what the provider's signature says of each. This fleet asks for no evidence: let it be identity = \"required\" in admission, which it is by default where the provider verifies identities. "+one)
	default:
		result.Batch = size
	}
}

// schemasOf gives the plugin's schemas; nil: not to be had, and reported at the
// provider block.
func (l *loader) schemasOf(block *body, plugin string) *fleet.PluginSchemas {
	at := block.header
	if !slices.Contains(l.pluginNames(), plugin) {
		l.fail(at, block.where, fmt.Sprintf("The plugin %q is not required", plugin),
			strings.TrimSpace(fmt.Sprintf("%s Add to the forgeyard block: required_plugins { %s = { source = \"…\", version = \"…\" } }", didYouMean(plugin, l.pluginNames()), plugin)))
		return nil
	}
	if schemas, asked := l.pluginSchemas[plugin]; asked {
		return schemas
	}
	l.pluginSchemas[plugin] = nil
	if l.schemas == nil {
		l.fail(at, block.where, fmt.Sprintf("The plugin %q isn't installed", plugin), "Run: forgeyard-fleet plugin install, with --from FOLDER for plugins that you built yourself (make build puts them into bin/plugins)")
		return nil
	}
	schemas, err := l.schemas.Schemas(plugin)
	if err != nil {
		l.fail(at, block.where, fmt.Sprintf("The plugin %q isn't installed", plugin), upperFirst(err.Error()))
		return nil
	}
	l.pluginSchemas[plugin] = &schemas
	return &schemas
}

// pluginBody reads a body by a plugin's schema. It returns what the plugin gets
// and, of that, what can't change without replacing instances. Attributes that
// are null and have no default are left out.
func (b *body) pluginBody(plugin string, schema fleet.PluginSchema) (config, immutable map[string]any) {
	config, immutable = map[string]any{}, map[string]any{}
	for _, attribute := range schema.Attributes {
		value, fixed, ok := b.pluginAttribute(plugin, attribute)
		if !ok {
			continue
		}
		config[attribute.Name] = value
		if fixed != nil {
			immutable[attribute.Name] = fixed
		}
	}
	for _, nested := range schema.Blocks {
		var configs, immutables []any
		var found []*body
		if nested.Repeated {
			found = b.children(nested.Name)
		} else if one := b.single(nested.Name); one != nil {
			found = []*body{one}
		}
		anyFixed := false
		for _, block := range found {
			inner, fixed := block.pluginBody(plugin, nested.Schema)
			block.close()
			configs, immutables = append(configs, inner), append(immutables, fixed)
			anyFixed = anyFixed || len(fixed) > 0
		}
		switch {
		case len(found) == 0:
			continue
		case nested.Repeated:
			config[nested.Name] = configs
		default:
			config[nested.Name] = configs[0]
		}
		switch {
		case !anyFixed:
		case nested.Repeated:
			immutable[nested.Name] = immutables
		default:
			immutable[nested.Name] = immutables[0]
		}
	}
	return config, immutable
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
