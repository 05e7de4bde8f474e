// Command forgeyard-plugin-manual is the provider plugin "manual": hosts that
// exist already, each joined by a person.
package main

import (
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/manual/internal/manual"
)

func main() { provider.Serve(manual.Plugin()) }
