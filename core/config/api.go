package config

import "github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"

// What callers of this package handle by its own names.
type (
	// Diagnostics are the errors and warnings of a load, sorted by file, line and column.
	Diagnostics = diagnostic.List
	// Diagnostic is one of them.
	Diagnostic = diagnostic.Diagnostic
	// Range is where one stands.
	Range = diagnostic.Range
	// Snippet is the line that one is about.
	Snippet = diagnostic.Snippet
)

// The severities of diagnostics.
const (
	Error   = diagnostic.Error
	Warning = diagnostic.Warning
)
