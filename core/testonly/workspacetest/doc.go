// Package workspacetest has the options of an installation that lives as long as a test.
package workspacetest
