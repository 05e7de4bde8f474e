//go:build linux || darwin

// Command forgeyard-plugin-local runs agents as processes on this machine. It is
// the provider "local" of forgeyard-fleet: no account, no cloud, and the default
// of the quickstart.
package main

import (
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/local/internal/local"
)

// version is set when a release is built.
var version = "0.1.0"

func main() {
	provider.Serve(local.Plugin(version))
}
