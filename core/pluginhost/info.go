package pluginhost

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Info is how a plugin describes itself. It depends on nothing but the plugin's
// executable, so that it may be cached under its digest.
type Info struct {
	Schemas fleet.PluginSchemas
	// SDK is what the plugin was built with, for support only.
	SDK string
	// Services names the optional services that are served.
	Services    []string
	Idempotency fleet.Idempotency
	Ownership   fleet.Ownership
	// ListSettle is how long an inspection may miss a new resource.
	ListSettle time.Duration
	// MaxBatch is how many items one call takes; 0: no limit of the plugin's.
	MaxBatch int
	// InspectionInterval is the least time between two complete inspections; 0: the
	// manager decides.
	InspectionInterval time.Duration
	// InspectsByKey says that asking for a few keys costs less than a complete list.
	InspectsByKey bool
	// InspectionRequests is how many API requests a complete inspection of 100 instances
	// takes; 0: not known.
	InspectionRequests int
	// Raw is the whole answer as JSON, for a cache; DecodeInfo reads it.
	Raw []byte
}

// Serves says that the plugin names an optional service.
func (i Info) Serves(service string) bool { return slices.Contains(i.Services, service) }

// Events says that the plugin announces things by itself.
func (i Info) Events() bool { return i.Serves(providerpb.EventsService) }

// Facts joins the description with the account that Configure reached.
func (i Info) Facts(account string) fleet.ProviderFacts {
	return fleet.ProviderFacts{
		Plugin:      i.Schemas.Name,
		Version:     i.Schemas.Version,
		Account:     account,
		Idempotency: i.Idempotency,
		Ownership:   i.Ownership,
		ListSettle:  i.ListSettle,
		MaxBatch:    i.MaxBatch,
		Batches:     i.Schemas.Batches,

		InspectionInterval: i.InspectionInterval,
		InspectsByKey:      i.InspectsByKey,
		InspectionRequests: i.InspectionRequests,
	}
}

// DecodeInfo reads Info.Raw back. An error means that the cached answer is of no
// use and the plugin has to be asked.
func DecodeInfo(raw []byte) (Info, error) {
	var response providerpb.GetInfoResponse
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, &response); err != nil {
		return Info{}, fmt.Errorf("decode a cached plugin description: %w; remove it; the next run writes a new one", err)
	}
	info, err := infoOf(&response)
	if err != nil {
		return Info{}, fmt.Errorf("use a cached plugin description: %w; remove it; the next run writes a new one", err)
	}
	return info, nil
}

var idempotencies = map[providerpb.Idempotency]fleet.Idempotency{
	providerpb.Idempotency_IDEMPOTENCY_NATIVE:   fleet.IdempotencyNative,
	providerpb.Idempotency_IDEMPOTENCY_BY_TAG:   fleet.IdempotencyByTag,
	providerpb.Idempotency_IDEMPOTENCY_BY_ASSET: fleet.IdempotencyByAsset,
}

var ownerships = map[providerpb.Ownership]fleet.Ownership{
	providerpb.Ownership_OWNERSHIP_SIGNED:   fleet.OwnershipSigned,
	providerpb.Ownership_OWNERSHIP_NAMED:    fleet.OwnershipNamed,
	providerpb.Ownership_OWNERSHIP_ASSIGNED: fleet.OwnershipAssigned,
}

// maxInspectionInterval bounds how long a plugin may want to be left alone: what is on
// its way waits for inspections.
const maxInspectionInterval = 10 * time.Minute

// infoOf converts and checks. What is unset or unknown is read as the least
// that it could mean: not idempotent, nothing may be deleted.
func infoOf(response *providerpb.GetInfoResponse) (Info, error) {
	info := Info{
		SDK:         response.GetSdk(),
		Services:    response.GetServices(),
		Idempotency: fleet.IdempotencyNone,
		Ownership:   fleet.OwnershipNone,
		ListSettle:  durationOf(response.GetListSettle()),
		MaxBatch:    int(response.GetMaxBatch()),

		InspectionInterval: min(durationOf(response.GetInspectionPace().GetMinInterval()), maxInspectionInterval),
		InspectsByKey:      response.GetInspectionPace().GetByKey(),
		InspectionRequests: int(response.GetInspectionPace().GetRequests()),
	}
	if known, ok := idempotencies[response.GetIdempotency()]; ok {
		info.Idempotency = known
	}
	if known, ok := ownerships[response.GetOwnership()]; ok {
		info.Ownership = known
	}
	info.Schemas.Name, info.Schemas.Version = response.GetName(), response.GetVersion()
	info.Schemas.Joined = info.Serves(providerpb.JoinService)
	info.Schemas.Market = info.Serves(providerpb.MarketService)
	info.Schemas.Identity = info.Serves(providerpb.IdentityService)
	info.Schemas.IdentityNeeds = response.GetIdentityNeeds()
	info.Schemas.Attestations = slices.Sorted(slices.Values(response.GetAttestations()))
	info.Schemas.AttestableByBlock = info.Serves(providerpb.AttestationsService)
	// A plugin that can't tell the hosts of a batch apart, or that executes a repeated
	// batch twice, isn't asked for batches.
	info.Schemas.Batches = info.Serves(providerpb.BatchService) && info.Schemas.Identity &&
		info.Idempotency == fleet.IdempotencyNative
	if info.Schemas.Batches {
		info.Schemas.MaxBatch = info.MaxBatch
	}
	if !fleet.ValidName(info.Schemas.Name) {
		return Info{}, fmt.Errorf("the name %q is not one", info.Schemas.Name)
	}
	var err error
	if info.Schemas.Provider, err = schemaOf(response.GetProviderSchema()); err != nil {
		return Info{}, fmt.Errorf("provider block: %w", err)
	}
	if info.Schemas.Instance, err = schemaOf(response.GetInstanceSchema()); err != nil {
		return Info{}, fmt.Errorf("instance block: %w", err)
	}
	if info.Raw, err = (protojson.MarshalOptions{UseProtoNames: true}).Marshal(response); err != nil {
		return Info{}, fmt.Errorf("encode the description: %w", err)
	}
	return info, nil
}

var typeKinds = map[providerpb.Type_Kind]fleet.PluginTypeKind{
	providerpb.Type_KIND_STRING:   fleet.KindString,
	providerpb.Type_KIND_BOOL:     fleet.KindBool,
	providerpb.Type_KIND_INT:      fleet.KindInt,
	providerpb.Type_KIND_NUMBER:   fleet.KindNumber,
	providerpb.Type_KIND_DURATION: fleet.KindDuration,
	providerpb.Type_KIND_LIST:     fleet.KindList,
	providerpb.Type_KIND_MAP:      fleet.KindMap,
	providerpb.Type_KIND_OBJECT:   fleet.KindObject,
}

// schemaName is what a fleet file can write as an attribute or block name.
var schemaName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]*$`)

// schemaOf converts a schema and refuses what a fleet file couldn't be read by.
func schemaOf(schema *providerpb.Schema) (fleet.PluginSchema, error) {
	var converted fleet.PluginSchema
	names := map[string]bool{}
	var err error
	if converted.Attributes, err = attributesOf(schema.GetAttributes(), names); err != nil {
		return fleet.PluginSchema{}, err
	}
	for _, block := range schema.GetBlocks() {
		if err := claimName(names, block.GetName()); err != nil {
			return fleet.PluginSchema{}, err
		}
		body, err := schemaOf(block.GetSchema())
		if err != nil {
			return fleet.PluginSchema{}, fmt.Errorf("%s: %w", block.GetName(), err)
		}
		converted.Blocks = append(converted.Blocks, fleet.PluginBlock{
			Name: block.GetName(), Doc: block.GetDoc(), Repeated: block.GetRepeated(), Schema: body,
		})
	}
	return converted, nil
}

func attributesOf(attributes []*providerpb.Attribute, names map[string]bool) ([]fleet.PluginAttribute, error) {
	var converted []fleet.PluginAttribute
	for _, attribute := range attributes {
		name := attribute.GetName()
		if err := claimName(names, name); err != nil {
			return nil, err
		}
		kind, err := typeOf(attribute.GetType())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if value := attribute.GetDefaultJson(); value != "" && !json.Valid([]byte(value)) {
			return nil, fmt.Errorf("%s: the default %q is not JSON", name, value)
		}
		converted = append(converted, fleet.PluginAttribute{
			Name: name, Type: kind, Doc: attribute.GetDoc(),
			Required: attribute.GetRequired(), Sensitive: attribute.GetSensitive(), Immutable: attribute.GetImmutable(),
			Default: attribute.GetDefaultJson(), Deprecated: attribute.GetDeprecated(),
		})
	}
	return converted, nil
}

func typeOf(t *providerpb.Type) (fleet.PluginType, error) {
	kind, known := typeKinds[t.GetKind()]
	if !known {
		return fleet.PluginType{}, fmt.Errorf("the type %v is unknown to this version", t.GetKind())
	}
	converted := fleet.PluginType{Kind: kind}
	switch kind {
	case fleet.KindList, fleet.KindMap:
		element, err := typeOf(t.GetElement())
		if err != nil {
			return fleet.PluginType{}, fmt.Errorf("element: %w", err)
		}
		converted.Element = &element
	case fleet.KindObject:
		var err error
		if converted.Attributes, err = attributesOf(t.GetAttributes(), map[string]bool{}); err != nil {
			return fleet.PluginType{}, err
		}
	}
	return converted, nil
}

func claimName(names map[string]bool, name string) error {
	if !schemaName.MatchString(name) {
		return fmt.Errorf("%q can't be the name of an attribute or block", name)
	}
	if names[name] {
		return fmt.Errorf("the name %q is used twice", name)
	}
	names[name] = true
	return nil
}

// diagnosticsOf converts complaints; an unset severity is an error.
func diagnosticsOf(diagnostics []*providerpb.Diagnostic) []fleet.PluginDiagnostic {
	var converted []fleet.PluginDiagnostic
	for _, diagnostic := range diagnostics {
		converted = append(converted, fleet.PluginDiagnostic{
			Warning: diagnostic.GetSeverity() == providerpb.Diagnostic_SEVERITY_WARNING,
			Summary: pluginlog.Printable(diagnostic.GetSummary()),
			Detail:  diagnostic.GetDetail(),
			Path:    pathOf(diagnostic.GetPath()),
		})
	}
	return converted
}

func pathOf(steps []*providerpb.Diagnostic_Step) (path []fleet.PathStep) {
	for _, step := range steps {
		path = append(path, fleet.PathStep{Name: step.GetName(), Index: step.GetIndex()})
	}
	return path
}

// durationOf reads a duration; unset, negative and nonsense are 0.
func durationOf(d *durationpb.Duration) time.Duration {
	if d.CheckValid() != nil {
		return 0
	}
	return max(d.AsDuration(), 0)
}
