// Package workspace is what a command does in a folder with fleet files, with or
// without a manager: where state, run and plugin directories are, the files with
// their variables and plugin lock, the installed plugins and what they say of the
// files.
//
// It starts plugins only to ask them, and never changes a provider's resources.
package workspace
