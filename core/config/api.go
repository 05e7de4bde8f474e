package config

import (
	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
	"github.com/forgeyard/forgeyard-fleet/core/config/source"
)

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
	// Source is one *.hcl file.
	Source = source.File
)

// The severities of diagnostics.
const (
	Error   = diagnostic.Error
	Warning = diagnostic.Warning
)

// LockFileName is the plugin lock, which lies beside the fleet files.
const LockFileName = source.LockFileName

// MaxSourceBytes bounds all files of one definition together.
const MaxSourceBytes = source.MaxSourceBytes

// ErrNoSources says that a directory holds no fleet file.
var ErrNoSources = source.ErrNoSources

// ReadDir reads the fleet files of a directory; see source.ReadDir.
func ReadDir(dir string) ([]Source, error) { return source.ReadDir(dir) }

// ReadFile reads one file of variables, for --var-file; see source.ReadFile.
func ReadFile(path string) (Source, error) { return source.ReadFile(path) }

// Format gives a fleet file's text in normal form; see source.Format.
func Format(file Source) ([]byte, Diagnostics) { return source.Format(file) }

// Functions are the names of the functions of the language, sorted.
func Functions() []string { return expression.Functions() }
