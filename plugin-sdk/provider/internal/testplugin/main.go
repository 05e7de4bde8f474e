// Command testplugin is a provider plugin for the tests that need a real
// process. It keeps instances in memory and misbehaves on request. It is a program, since
// a process that is signalled, or loses its host, is what these tests are about.
package main

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"sync"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// Config says how to misbehave.
type Config struct {
	// Child is started by New and inherits what a careless plugin leaks.
	Child []string `fleet:"child"`
	// Finished is written when a slow create ends.
	Finished string `fleet:"finished"`
	// Release is a FIFO: a create named "slow" ends when its writer closes it.
	Release string `fleet:"release"`
}

// Instance is the instance block.
type Instance struct {
	Size int `fleet:"size,required" doc:"How large."`
}

type memory struct {
	config Config
	mutex  sync.Mutex
	things map[string]provider.Resource
}

func (m *memory) Inspect(context.Context, provider.Query) iter.Seq2[provider.Resource, error] {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	things := maps.Clone(m.things)
	return func(yield func(provider.Resource, error) bool) {
		for _, thing := range things {
			if !yield(thing, nil) {
				return
			}
		}
	}
}

func (m *memory) Provision(_ context.Context, request provider.ProvisionRequest[Instance]) (provider.Resource, error) {
	switch request.Name {
	case "panic":
		panic("as asked")
	case "noisy":
		fmt.Println("this goes to standard output")
		fmt.Fprintln(os.Stderr, "and this to standard error")
	case "slow":
		if _, err := os.ReadFile(m.config.Release); err != nil {
			return provider.Resource{}, err
		}
		if err := os.WriteFile(m.config.Finished, []byte("done"), 0o600); err != nil {
			return provider.Resource{}, err
		}
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	thing, exists := m.things[request.Key]
	if exists {
		thing.Existed = true
		return thing, nil
	}
	thing = provider.Resource{ID: "mem-" + request.Key, Key: request.Key, Fleet: request.Fleet, State: provider.Running,
		Tags: request.Tags}
	m.things[request.Key] = thing
	return thing, nil
}

func (m *memory) Terminate(_ context.Context, ref provider.Ref) (provider.TerminateState, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.things, ref.Key)
	return provider.Gone, nil
}

func main() {
	provider.Serve(provider.Plugin[Config, Instance]{
		Name: "testplugin", Version: "0.0.1",
		Idempotency: provider.IdempotentByTag, Ownership: provider.OwnershipNamed,
		New: func(_ context.Context, config Config, environment provider.Environment) (provider.Provider[Instance], error) {
			environment.Logger.Info("configured", "installation", environment.Installation, "@level", 7)
			if len(config.Child) > 0 {
				if err := exec.Command(config.Child[0], config.Child[1:]...).Start(); err != nil {
					return nil, err
				}
			}
			return &memory{config: config, things: map[string]provider.Resource{}}, nil
		},
	})
}
