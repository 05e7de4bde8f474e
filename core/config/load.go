package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
	"github.com/forgeyard/forgeyard-fleet/core/config/source"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// SchemaSource knows the schemas of the plugins that a definition requires. Its
// error is ErrNotInstalled, or reaches the user as it is and should end in what to
// do.
type SchemaSource interface {
	Schemas(plugin string) (fleet.PluginSchemas, error)
}

// Loaded is a definition without errors and where its plugin bodies stand.
type Loaded struct {
	Definition fleet.Definition

	document  *document
	providers map[fleet.ProviderAddress]blockSource
	instances map[fleet.FleetAddress]blockSource
	// schedulers aren't plugins' bodies and are reported in the same way.
	schedulers map[fleet.SchedulerAddress]blockSource
	removed    map[fleet.FleetAddress]removal
	// classHeaders are where capacity classes are written, by name.
	classHeaders map[string]hcl.Range
}

// Load reads a definition. Loaded is nil where the diagnostics hold an error.
// All errors of all files come at once, but text that doesn't parse stops the
// rest: after it every reference would look wrong.
func Load(sources []source.File, variables Variables, schemas SchemaSource) (*Loaded, diagnostic.List) {
	l := newLoader()
	l.schemas = schemas
	root, ok := l.parseAll(sources)
	if !ok {
		return nil, l.Sorted()
	}
	l.readDefinition(root, variables)
	root.close()
	diagnostics := l.Sorted()
	if diagnostics.HasErrors() {
		return nil, diagnostics
	}
	return &Loaded{
		Definition: l.definition, document: l.document,
		providers: l.providerBodies, instances: l.instanceBodies, schedulers: l.schedulerBodies, removed: l.removals,
		classHeaders: l.classHeaders,
	}, diagnostics
}

// loader is the work of one load.
type loader struct {
	*document
	schemas SchemaSource

	definition      fleet.Definition
	plugins         map[string]*plugin
	images          map[string]*image
	classes         map[string]fleet.CapacityClass
	providerBodies  map[fleet.ProviderAddress]blockSource
	instanceBodies  map[fleet.FleetAddress]blockSource
	classHeaders    map[string]hcl.Range
	schedulerBodies map[fleet.SchedulerAddress]blockSource
	removals        map[fleet.FleetAddress]removal
	// fleetBlocks are the declared fleets.
	fleetBlocks map[fleet.FleetAddress]*body
}

func newLoader() *loader {
	return &loader{
		document: newDocument(fleetLanguage()),
		definition: fleet.Definition{
			Plugins: []fleet.PluginRequirement{}, Providers: []fleet.Provider{}, Fleets: []fleet.RunnerFleet{},
		},
		plugins:         map[string]*plugin{},
		images:          map[string]*image{},
		classes:         map[string]fleet.CapacityClass{},
		providerBodies:  map[fleet.ProviderAddress]blockSource{},
		instanceBodies:  map[fleet.FleetAddress]blockSource{},
		classHeaders:    map[string]hcl.Range{},
		schedulerBodies: map[fleet.SchedulerAddress]blockSource{},
		fleetBlocks:     map[fleet.FleetAddress]*body{},
		removals:        map[fleet.FleetAddress]removal{},
	}
}

// readDefinition goes through the blocks in the order in which they need each
// other: requirements, names, variables, locals, then what refers to them.
func (l *loader) readDefinition(root *body, outside Variables) {
	forgeyard := l.forgeyardBlock(root)
	if forgeyard != nil {
		requirements := l.readRequirements(forgeyard)
		l.definition.Installation = requirements.Installation
		l.definition.RequiredVersion, l.definition.Plugins = requirements.RequiredVersion, requirements.Plugins
	}
	providers := l.named(root, "provider")
	schedulers := l.named(root, "scheduler")
	images := l.named(root, "image")
	classes := l.named(root, "capacity_class")
	fleets := l.named(root, "fleet")
	reservations := l.named(root, "reservation")
	policy := root.single("policy")
	for _, kind := range expression.BlockRoots {
		l.scope.Context.Variables[kind] = l.references(kind)
	}
	l.scope.Context.Variables["var"] = l.readVariables(l.named(root, "variable"), outside)
	l.scope.Context.Variables["local"] = l.readLocals(root.children("locals"))

	if forgeyard != nil {
		l.readManager(forgeyard)
	}
	for _, block := range providers {
		l.readProvider(block)
	}
	for _, block := range images {
		l.readImage(block)
	}
	for _, block := range classes {
		l.readCapacityClass(block)
	}
	for _, block := range schedulers {
		l.readScheduler(block)
	}
	for _, block := range fleets {
		l.readFleet(block)
	}
	for _, block := range reservations {
		l.readReservation(block)
	}
	l.readPolicy(policy)
	l.checkPolicy(l.definition.Policy)
	l.checkCurrencies()
	l.checkSpread()
	l.readRemoved(root.children("removed"))
	l.readMoved(root.children("moved"))
	l.sortDefinition()
}

// sortDefinition makes equal files equal bytes.
func (l *loader) sortDefinition() {
	slices.SortFunc(
		l.definition.Providers,
		func(a, b fleet.Provider) int { return strings.Compare(string(a.Address), string(b.Address)) },
	)
	slices.SortFunc(
		l.definition.Schedulers,
		func(a, b fleet.Scheduler) int { return strings.Compare(string(a.Address), string(b.Address)) },
	)
	slices.SortFunc(
		l.definition.Reservations,
		func(a, b fleet.CapacityReservation) int { return strings.Compare(a.Name, b.Name) },
	)
	slices.SortFunc(
		l.definition.Fleets,
		func(a, b fleet.RunnerFleet) int { return strings.Compare(string(a.Address), string(b.Address)) },
	)
}

// named are the blocks of a type at the top, whose names become known.
func (l *loader) named(root *body, kind string) []*body {
	blocks := root.find(l.language.top.nested(kind))
	if kind == "variable" { // has a scope of its own
		return blocks
	}
	for _, block := range blocks {
		l.scope.Names[kind] = append(l.scope.Names[kind], strings.Join(block.labels, "."))
	}
	return blocks
}

// references is the value behind a root such as "image": a reference for each
// declared block.
func (l *loader) references(kind string) cty.Value {
	values := map[string]cty.Value{}
	plugins := map[string]map[string]cty.Value{}
	for _, name := range l.scope.Names[kind] {
		reference := cty.CapsuleVal(expression.ReferenceType, &expression.BlockReference{Kind: kind, Name: name})
		plugin, instance, nested := strings.Cut(name, ".")
		if !nested {
			values[name] = reference
			continue
		}
		if plugins[plugin] == nil {
			plugins[plugin] = map[string]cty.Value{}
		}
		plugins[plugin][instance] = reference
	}
	for plugin, instances := range plugins {
		values[plugin] = cty.ObjectVal(instances)
	}
	return cty.ObjectVal(values)
}

// readManager reads the part of the forgeyard block that may refer to variables.
func (l *loader) readManager(block *body) {
	var written forgeyardBlock
	value := reflect.ValueOf(&written).Elem()
	manager := declared(value.Type()).nested("manager")
	block.readNested(manager, value.Field(manager.field))
	if written.Manager != nil {
		l.definition.Manager = fleet.ManagerSettings(*written.Manager)
	}
	block.close()
}

// NoEffectYet warns, once for each kind, of what the files use and this version
// only reads and stores. Each warning stands at the first use.
func (l *Loaded) NoEffectYet() diagnostic.List { return l.document.noEffectYet() }
