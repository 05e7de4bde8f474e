package provider_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

type Config struct {
	Region string `fleet:"region,required" doc:"Where to build."`
	Token  string `fleet:"token,sensitive" doc:"The API's token."`
}

type Instance struct {
	CPUs int           `fleet:"cpus,immutable" default:"4" doc:"Virtual CPUs."`
	Boot time.Duration `fleet:"boot_timeout" default:"5m" doc:"How long a boot may take."`
}

// cloud stands for the API of an infrastructure.
type cloud struct{ instances map[string]provider.Resource }

func (c cloud) Inspect(context.Context, provider.Query) iter.Seq2[provider.Resource, error] {
	return func(yield func(provider.Resource, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(c.instances)) {
			if !yield(c.instances[key], nil) {
				return
			}
		}
	}
}

func (c cloud) Provision(_ context.Context, request provider.ProvisionRequest[Instance]) (provider.Resource, error) {
	if made, exists := c.instances[request.Key]; exists {
		made.Existed = true
		return made, nil
	}
	if request.Instance.CPUs > 64 {
		return provider.Resource{}, provider.NotCreated(provider.Capacity, errors.New("no host is that large"))
	}
	made := provider.Resource{ID: "vm-" + request.Key, Key: request.Key, State: provider.Running, Tags: request.Tags}
	c.instances[request.Key] = made
	return made, nil
}

func (c cloud) Terminate(_ context.Context, ref provider.Ref) (provider.TerminateState, error) {
	if ref.ID != "" && ref.ID != "vm-"+ref.Key {
		return provider.Refused, fmt.Errorf("%s carries another key", ref.ID)
	}
	delete(c.instances, ref.Key)
	return provider.Gone, nil
}

// A plugin is its declaration and a provider; Serve is all of its main function.
func ExamplePlugin() {
	plugin := provider.Plugin[Config, Instance]{
		Name: "acme", Version: "1.0.0",
		Idempotency: provider.IdempotentByTag, Ownership: provider.OwnershipSigned,
		New: func(_ context.Context, c Config, environment provider.Environment) (provider.Provider[Instance], error) {
			environment.SetAccount("acme in " + c.Region)
			return cloud{map[string]provider.Resource{}}, nil
		},
	}
	fmt.Println(plugin.Check())
	// In main: provider.Serve(plugin)
	// Output: <nil>
}

// Check tells what is wrong with a declaration; call it in a test.
func ExamplePlugin_Check() {
	type Faulty struct {
		Size int `fleet:"size,requird"`
	}
	plugin := provider.Plugin[Config, Faulty]{Name: "acme", Version: "1.0.0"}
	fmt.Println(strings.ReplaceAll(plugin.Check().Error(), "; valid", ";\nvalid"))
	// Output:
	// plugin "acme" is declared wrongly, a bug in the plugin:
	// field New is nil
	// instance block: field Size of provider_test.Faulty: unknown option "requird";
	// valid: required, immutable, sensitive, block
}

// The same key twice gives the same resource, and the second time says so.
func ExampleProvider() {
	var acme provider.Provider[Instance] = cloud{map[string]provider.Resource{}}
	request := provider.ProvisionRequest[Instance]{Key: "01j9", Instance: Instance{CPUs: 4}}
	for range 2 {
		made, err := acme.Provision(context.Background(), request)
		fmt.Println(made.ID, made.Existed, err)
	}
	for resource, err := range acme.Inspect(context.Background(), provider.Query{}) {
		fmt.Println(resource.ID, err)
	}
	// Output:
	// vm-01j9 false <nil>
	// vm-01j9 true <nil>
	// vm-01j9 <nil>
}

// NotCreated claims that nothing exists. The claim holds where the error is
// wrapped, and not where it is joined with another.
func ExampleNotCreated() {
	full := provider.NotCreated(provider.Capacity, errors.New("zone a has no hosts left"))
	fmt.Println(full, provider.IsNotCreated(full))
	fmt.Println(provider.IsNotCreated(fmt.Errorf("create a host: %w", full)))
	fmt.Println(provider.IsNotCreated(errors.Join(full, errors.New("and then the line broke"))))
	fmt.Println(provider.IsNotCreated(errors.New("the line broke")))
	// Output:
	// zone a has no hosts left true
	// true
	// false
	// false
}

// A class and what narrows it say when the manager tries again.
func ExampleError() {
	err := provider.NotCreated(provider.RateLimit, &provider.Error{
		Err: errors.New("too many requests"), RetryAfter: time.Minute, RequestID: "req-7",
	})
	detailed, _ := errors.AsType[*provider.Error](err)
	fmt.Println(detailed, detailed.RetryAfter, detailed.RequestID)
	// Output: too many requests 1m0s req-7
}

// Nodes is a block with a rule that its tags can't say.
type Nodes struct {
	Names []string `fleet:"names,required" doc:"The nodes to build on."`
}

// Validate is asked offline; its path leads to the line of the fleet file.
func (n Nodes) Validate() []provider.Diagnostic {
	var found []provider.Diagnostic
	for i, name := range n.Names {
		if name != strings.ToLower(name) {
			found = append(found, provider.Diagnostic{
				Summary: "Capital letters", Detail: "Names of nodes are in lower case.", Path: provider.At("names").Index(i),
			})
		}
	}
	return found
}

func ExampleValidator() {
	var nodes provider.Validator = Nodes{Names: []string{"a", "B"}}
	for _, complaint := range nodes.Validate() {
		fmt.Println(complaint)
	}
	// Output: names[1]: Capital letters: Names of nodes are in lower case.
}

// A path goes through nested blocks, lists and objects.
func ExampleAt() {
	fmt.Println(provider.At("disk").Index(0).Attr("size_gb"))
	// Output: disk[0].size_gb
}
