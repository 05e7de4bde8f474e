package queue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// Document is the OpenAPI 3.1 document of the contract, as docs/scheduler-openapi.json has
// it, made from the routes and the wire types.
func Document() ([]byte, error) {
	text, err := json.Marshal(newServer(nil, "", "").api.OpenAPI())
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

const (
	tokenScheme  = "token"
	runnerScheme = "runner"
	routeKey     = "route"
)

// apiConfig is JSON only, without any route of huma's own.
func apiConfig() huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:   "Schedulers and forgeyard-fleet",
				Version: "1",
				Description: "What the fleet manager asks of a scheduler of the type forgeyard, and the calls of the reference " +
					"scheduler's submitters and workers. docs/scheduler-api.md explains it.",
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					tokenScheme: {Type: "http", Scheme: "bearer", Description: "The queue's token."},
					runnerScheme: {
						Type:        "http",
						Scheme:      "bearer",
						Description: "The credential in the environment that a runner was admitted with.",
					},
				},
			},
			Security: []map[string][]string{{tokenScheme: {}}},
			Tags: []*huma.Tag{
				{Name: "contract", Description: "What a scheduler has to implement."},
				{Name: "jobs", Description: "The reference scheduler's own calls for submitters."},
				{Name: "work", Description: "The reference scheduler's own calls for workers."},
			},
		},
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: "application/json",
	}
}

// document adds to the document what the Go types of a call don't say.
func (s *Server) document(r route) {
	doc := s.api.OpenAPI()
	op := operationAt(doc.Paths[r.path], r.method)
	if r.takes != nil {
		op.RequestBody.Required = true
		op.RequestBody.Content["application/json"].Schema = doc.Components.Schemas.Schema(reflect.TypeOf(r.takes), true, "")
	}
	if r.also != 0 {
		op.Responses[fmt.Sprint(r.also)] = &huma.Response{Description: http.StatusText(r.also)}
	}
	if r.text {
		op.Responses["200"].Content = map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	for _, p := range op.Parameters {
		if p.Name == "reason" { // the handler refuses others
			p.Required, p.Schema.Enum = true, []any{"normal", "infrastructure"}
		}
	}
}

func operationAt(item *huma.PathItem, method string) *huma.Operation {
	switch method {
	case http.MethodGet:
		return item.Get
	case http.MethodPut:
		return item.Put
	case http.MethodPost:
		return item.Post
	}
	return item.Delete
}

// requests are the bodies in which unknown members are refused, with what each must have.
var requests = map[reflect.Type][]string{
	reflect.TypeFor[Submission]():            {"command"},
	reflect.TypeFor[forgeyard.Admit]():       nil,
	reflect.TypeFor[forgeyard.Cordon]():      nil,
	reflect.TypeFor[forgeyard.Requirement](): nil,
	reflect.TypeFor[forgeyard.Resources]():   nil,
	reflect.TypeFor[worker.LeaseRequest]():   {"session"},
	reflect.TypeFor[worker.RenewRequest]():   nil,
	reflect.TypeFor[worker.Result]():         {"exit_status"},
}

// polish says which members requests need, and lets answers have new ones.
func (s *Server) polish() {
	schemas := s.api.OpenAPI().Components.Schemas.Map()
	named := map[string][]string{}
	for kind, needed := range requests {
		named[kind.Name()] = needed
	}
	for name, schema := range schemas {
		needed, isRequest := named[name]
		if isRequest {
			schema.Required = needed
		} else {
			schema.AdditionalProperties = true
		}
		for _, property := range schema.Properties {
			property.Nullable = false
		}
	}
	states := schemas["Job"].Properties["state"]
	for _, state := range []State{Waiting, Leased, Succeeded, Failed, Cancelled} {
		states.Enum = append(states.Enum, string(state))
	}
}
