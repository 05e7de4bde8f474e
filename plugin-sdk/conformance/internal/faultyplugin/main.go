// Command faultyplugin is a provider plugin that breaks the rules which take a
// process: one for each value of its attribute "fault". It has no instances.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// Config says what is wrong.
type Config struct {
	Fault string `fleet:"fault" doc:"What is wrong: prints, mumbles, has-children, phones-home; empty: nothing."`
}

// Validate phones home where it is told to and there is a proxy, which keeps a
// test on its machine.
func (c Config) Validate() []provider.Diagnostic {
	if c.Fault == "phones-home" && os.Getenv("HTTP_PROXY") != "" {
		client := http.Client{Timeout: time.Second}
		if response, err := client.Get("http://home.invalid/"); err == nil {
			_ = response.Body.Close()
		}
	}
	return nil
}

type none struct{ Config }

func (n none) Inspect(context.Context, provider.Query) iter.Seq2[provider.Resource, error] {
	switch n.Fault {
	case "prints":
		fmt.Println("listing")
	case "mumbles":
		fmt.Fprintln(standardError, "listing")
	}
	return func(func(provider.Resource, error) bool) {}
}

func (none) Provision(context.Context, provider.ProvisionRequest[struct{}]) (provider.Resource, error) {
	return provider.Resource{}, provider.NotCreated(provider.Capacity, errors.New("it never has any"))
}

func (none) Terminate(context.Context, provider.Ref) (provider.TerminateState, error) {
	return provider.Gone, nil
}

func main() {
	provider.Serve(provider.Plugin[Config, struct{}]{
		Name: "faulty", Version: "0.0.1", Idempotency: provider.IdempotentByTag, Ownership: provider.OwnershipNamed,
		New: func(_ context.Context, c Config, _ provider.Environment) (provider.Provider[struct{}], error) {
			if c.Fault == "has-children" {
				return none{c}, exec.Command("sleep", "60").Start()
			}
			return none{c}, nil
		},
	})
}

// standardError is the process's own, whatever took the place of os.Stderr. It is one
// for all writers: a file that is made of the descriptor and forgotten closes it.
var standardError = os.NewFile(2, "the log")
