// Package secret resolves the secret references of a definition and redacts secrets in
// text.
//
// Definitions contain references (fleet.SecretReference); only the manager's process has
// the values, while it configures a plugin or scheduler. A resolver keeps no value, logs
// nothing, and puts no value into an error. The only thing it reads itself is the file of
// a reference (ReadFile); the environment is passed in. A Redactor lives as long as the
// plugin or scheduler that was given secrets, and removes them from its output.
//
// References come from the store; values go to pluginhost and the scheduler adapters.
package secret
