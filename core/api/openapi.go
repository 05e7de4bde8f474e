package api

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/problem"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Document is the OpenAPI 3.1 document of the routes, as docs/openapi.json has it.
func Document() ([]byte, error) {
	h := NewHandler(Config{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	text, err := json.Marshal(h.api.OpenAPI())
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// apiVersion changes when clients must.
const apiVersion = "1"

const (
	tokenScheme  = "token"
	schemaPrefix = "#/components/schemas/"
)

// document is where huma begins: only JSON, and none of the routes of its own.
func document() huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:   "forgeyard-fleet",
				Version: apiVersion,
				Description: "Control and observe an installation. Requests with unknown fields are refused; answers may get new " +
					"fields at any time.",
			},
			Components: &huma.Components{
				Schemas: schemas(),
				SecuritySchemes: map[string]*huma.SecurityScheme{tokenScheme: {
					Type:   "http",
					Scheme: "bearer",
					Description: "A token (fyk_…), only over TLS. The unix socket needs none: the caller is the user of the " +
						"connecting process.",
				}},
			},
			Security: []map[string][]string{{tokenScheme: {}}},
			Tags: []*huma.Tag{
				{Name: "fleets", Description: "Fleets, their numbers and decisions."},
				{Name: "instances", Description: "Single instances."},
				{Name: "definition", Description: "Planning and applying fleet files."},
				{Name: "images", Description: "Images and their rollouts."},
				{Name: "events", Description: "Events and progress."},
				{Name: "tokens", Description: "Tokens and the audit log."},
				{Name: "keys", Description: "The installation's signing and ownership keys."},
				{Name: "about", Description: "The manager itself."},
			},
		},
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: "application/json",
	}
}

// humaProblem is the name of what huma itself answers; Problem, which has it, is documented.
const humaProblem = "HumaProblem"

// schemaName is huma's, except where a Go name says too little by itself.
func schemaName(t reflect.Type, hint string) string {
	if t == reflect.TypeFor[problem.Problem]() {
		return humaProblem
	}
	switch name := huma.DefaultSchemaNamer(t, hint); {
	case name == "File":
		return "Source"
	case name == "Output":
		return "PlanPreview"
	case strings.HasPrefix(name, "List") && len(name) > len("List"):
		return strings.TrimPrefix(name, "List") + "List"
	default:
		return name
	}
}

// polish says what the Go types don't.
func polish(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas.Map()
	delete(schemas, humaProblem)
	schemas["Problem"].Required = append(schemas["Problem"].Required, "code")
	slices.Sort(schemas["Problem"].Required)
	var permissions []any
	for _, p := range access.AllPermissions() {
		permissions = append(permissions, string(p))
	}
	schemas["TokenRequest"].Properties["permissions"].Items.Enum = permissions
	schemas["TokenRequest"].Properties["permissions"].Items.PrecomputeMessages()
	// huma would refuse an empty file, and look for long at a large one. Decoding
	// finds what isn't base64.
	bytes := schemas["Source"].Properties["bytes"]
	bytes.ContentEncoding, bytes.Extensions = "", map[string]any{"contentEncoding": "base64"}
	// Only what comes in is held to its known fields.
	incoming := map[string]bool{}
	for _, item := range doc.Paths {
		if item.Post != nil && item.Post.RequestBody != nil {
			reach(doc, item.Post.RequestBody.Content["application/json"].Schema, incoming)
		}
	}
	for name := range schemas {
		if !incoming[name] {
			schemas[name].AdditionalProperties = true
		}
	}
}

// reach notes the names of all schemas that a schema is made of.
func reach(doc *huma.OpenAPI, s *huma.Schema, seen map[string]bool) {
	if s == nil {
		return
	}
	if name, named := strings.CutPrefix(s.Ref, schemaPrefix); named {
		if !seen[name] {
			seen[name] = true
			reach(doc, doc.Components.Schemas.Map()[name], seen)
		}
		return
	}
	reach(doc, s.Items, seen)
	for _, one := range s.Properties {
		reach(doc, one, seen)
	}
	if values, ok := s.AdditionalProperties.(*huma.Schema); ok {
		reach(doc, values, seen)
	}
}

// Reason is what a reason.Reason is in JSON.
type Reason struct {
	Code   string         `json:"code" doc:"The kind of reason; docs/reasons.md lists them."`
	Params map[string]any `json:"params,omitempty" doc:"The parameters of the kind."`
	Text   string         `json:"text" doc:"The reason as text, which may change in any version."`
}

// schemas are those of the document's components.
func schemas() huma.Registry {
	r := huma.NewMapRegistry(schemaPrefix, schemaName)
	r.RegisterTypeAlias(reflect.TypeFor[reason.Reason](), reflect.TypeFor[Reason]())
	return r
}
