// Command forgeyard-plugin-aws runs machines in EC2. It is the provider "aws" of
// forgeyard-fleet.
package main

import (
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/aws"
)

// version is set when a release is built.
var version = "0.1.0"

func main() {
	provider.Serve(aws.Plugin(version))
}
