// Package pluginlog makes what a plugin writes fit for the manager's log: it reads the
// plugin's standard streams, hides the secrets that the plugin was given, bounds how much
// of the log one plugin takes, and keeps the last lines for the error of one that fails.
//
// A plugin may write anything: nothing here takes its output for more than bytes.
package pluginlog
