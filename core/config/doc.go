// Package config reads fleet.hcl: source text in, a fleet.Definition or
// diagnostics with file, line and column out.
//
// Each block is declared once, by the tags of a struct (blocks_*.go), as a plugin
// declares its own; see the type declaration for who works on that. A plugin's
// blocks are read in the same way by the schema that a SchemaSource hands in, and
// the plugin's own diagnostics are put on the right line afterwards
// (Loaded.ProviderDiagnostics, Loaded.InstanceDiagnostics). Diff compares two
// definitions for a plan. The package never touches the network, starts no
// plugin and reads no environment: variables come in as values. Data comes from
// files (ReadDir) and goes to the plans package.
package config
