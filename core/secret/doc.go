// Package secret puts secrets where a definition refers to them, for as long as
// a plugin or scheduler is being configured.
//
// Definitions hold references (fleet.SecretReference); only the manager's
// process, at the moment of use, has the value. Resolving keeps no value, logs
// nothing, and no error that it returns holds one. It reads nothing by itself
// but the file of a reference (ReadFile): the environment comes in as a
// function. A Redactor, which lives as long as what was given secrets, takes them out
// of what that says. Data comes from the store and goes to pluginhost and the scheduler's
// adapters.
package secret
