// Package pluginauthor is for those who write provider plugins: it writes the source of a new
// one, tests a built one against the contract, and makes single calls of it.
package pluginauthor

import (
	"io"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/core/config"
)

// Session is what the commands take from outside.
type Session struct {
	In          io.Reader
	Err         io.Writer
	ErrTerminal bool
	LookupEnv   func(string) (string, bool)
	Page        render.Page
	// Warn prints warnings about files and returns their errors.
	Warn func(config.Diagnostics) error
}
