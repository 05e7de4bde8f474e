// Command describe answers --describe with the schemas of the plugin aws, without the
// SDK, whose compilation takes minutes: for the tests that read fleet files and pages.
package main

import (
	"context"
	"errors"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

func main() {
	provider.Serve(provider.Plugin[settings.Config, settings.Instance]{
		Name: "aws", Version: "0.1.0",
		New: func(context.Context, settings.Config, provider.Environment) (provider.Provider[settings.Instance], error) {
			return nil, errors.New("this program describes the blocks of the plugin aws; it is not a plugin")
		},
	})
}
