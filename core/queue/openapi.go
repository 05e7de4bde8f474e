package queue

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// object is a JSON object of the document.
type object map[string]any

// Document is the OpenAPI 3.1 document of the contract, as
// docs/scheduler-openapi.json has it, made from the routes and the wire types.
func Document() ([]byte, error) {
	d := document{schemas: object{}}
	paths := object{}
	for _, one := range (&Server{}).routes() {
		path, known := paths[one.path].(object)
		if !known {
			path = object{}
			if parameters := parametersOf(one.path); len(parameters) > 0 {
				path["parameters"] = parameters
			}
			paths[one.path] = path
		}
		path[strings.ToLower(one.method)] = d.operation(one)
	}
	text, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{"title": "Schedulers and forgeyard-fleet", "version": "1",
			"description": "What the fleet manager asks of a scheduler of the type forgeyard, and the calls of the reference scheduler's submitters and workers. docs/scheduler-api.md says what it means."},
		"paths":    paths,
		"security": []object{{"token": []string{}}},
		"tags": []object{
			{"name": "contract", "description": "What a scheduler has to speak."},
			{"name": "jobs", "description": "The reference scheduler's own: its submitters."},
			{"name": "work", "description": "The reference scheduler's own: its workers."},
		},
		"components": object{"schemas": d.schemas, "securitySchemes": object{
			"token":  object{"type": "http", "scheme": "bearer", "description": "The queue's token."},
			"runner": object{"type": "http", "scheme": "bearer", "description": "The credential in the environment that a runner was admitted with."},
		}},
	}, "", "  ")
	return append(text, '\n'), err
}

type document struct{ schemas object }

func parametersOf(path string) []object {
	var all []object
	for _, name := range []string{"runner", "job", "lease"} {
		if strings.Contains(path, "{"+name+"}") {
			all = append(all, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	return all
}

func (d document) operation(one route) object {
	o := object{"summary": one.says, "tags": []string{tagOf(one)}, "operationId": operationOf(one)}
	if one.ofRunner {
		o["security"] = []object{{"runner": []string{}}}
	}
	if one.method == "DELETE" && one.path == "/v1/runners/{runner}" {
		o["parameters"] = []object{{"name": "reason", "in": "query", "required": true, "schema": object{"type": "string", "enum": []string{"normal", "infrastructure"}}}}
	}
	if one.takes != nil {
		o["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": d.schema(reflect.TypeOf(one.takes))}}}
	}
	answers := object{"default": object{"description": "A refusal (RFC 9457).",
		"content": object{"application/problem+json": object{"schema": d.schema(reflect.TypeFor[forgeyard.Problem]())}}}}
	switch one.gives.(type) {
	case nil:
		answers["204"] = object{"description": "Done."}
	case string:
		answers["200"] = object{"description": "The text.", "content": object{"text/plain": object{"schema": object{"type": "string"}}}}
	default:
		status := "200"
		if one.path == "/v1/jobs" && one.method == "POST" {
			status = "201"
		}
		answers[status] = object{"description": "Done.", "content": object{"application/json": object{"schema": d.schema(reflect.TypeOf(one.gives))}}}
	}
	if one.also != 0 {
		answers[fmt.Sprint(one.also)] = object{"description": http.StatusText(one.also)}
	}
	o["responses"] = answers
	return o
}

func tagOf(one route) string {
	switch {
	case one.ofRunner:
		return "work"
	case strings.HasPrefix(one.path, "/v1/jobs"):
		return "jobs"
	}
	return "contract"
}

// operationOf names a call after its method and path: put-runners-runner-leases-lease.
func operationOf(one route) string {
	path := strings.NewReplacer("/v1", "", "/", "-", "{", "", "}", "").Replace(one.path)
	return strings.ToLower(one.method) + path
}

// requests are the bodies in which unknown members are refused, with what each
// must have.
var requests = map[reflect.Type][]string{
	reflect.TypeFor[Submission]():            {"command"},
	reflect.TypeFor[forgeyard.Admit]():       {},
	reflect.TypeFor[forgeyard.Cordon]():      {},
	reflect.TypeFor[forgeyard.Requirement](): {},
	reflect.TypeFor[forgeyard.Resources]():   {},
	reflect.TypeFor[worker.LeaseRequest]():   {"session"},
	reflect.TypeFor[worker.RenewRequest]():   {},
	reflect.TypeFor[worker.Result]():         {"exit_status"},
}

// schema describes a type; structs have a name and are described once.
func (d document) schema(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		return d.schema(t.Elem())
	case reflect.String:
		if t == reflect.TypeFor[State]() {
			return object{"type": "string", "enum": []State{Waiting, Leased, Succeeded, Failed, Cancelled}}
		}
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer", "format": "int64"}
	case reflect.Float64:
		return object{"type": "number", "format": "double"}
	case reflect.Slice:
		return object{"type": "array", "items": d.schema(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.schema(t.Elem())}
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return object{"type": "string", "format": "date-time"}
		}
		if _, known := d.schemas[t.Name()]; !known {
			d.schemas[t.Name()] = object{} // so that it may refer to itself
			d.schemas[t.Name()] = d.members(t)
		}
		return object{"$ref": "#/components/schemas/" + t.Name()}
	}
	panic(fmt.Sprintf("the contract has no type like %s", t))
}

func (d document) members(t reflect.Type) object {
	properties, required := object{}, []string{}
	for n := range t.NumField() {
		field := t.Field(n)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		properties[name] = d.schema(field.Type)
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	o := object{"type": "object", "properties": properties}
	if must, isRequest := requests[t]; isRequest {
		required = must
		o["additionalProperties"] = false
	}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}
