// Command forgeyard-plugin-libvirt runs machines on hosts with libvirt. It is the
// provider "libvirt" of forgeyard-fleet.
package main

import (
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/libvirt"
)

// version is set when a release is built.
var version = "0.1.0"

func main() {
	provider.Serve(libvirt.Plugin(version))
}
