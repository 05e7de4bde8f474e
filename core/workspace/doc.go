// Package workspace is what a command needs of a folder with fleet files, with or without
// a manager: the state, run and plugin directories, the files with their variables and
// lock file, the installed plugins, and the plugins' validation of the files.
//
// It starts plugins only for validation and never changes a provider's resources. Data
// comes from the file system and goes to plans and the commands.
package workspace
