// Package pluginhost runs provider plugins: it launches a plugin's process, supervises
// it, calls it, classifies its errors and converts its answers to types of fleet.
//
// Paths, digests and decoded blocks come from pluginstore and config; answers go to the
// executor. It is the only package of core that calls a plugin by go-plugin and providerpb. It
// knows no provider by name and makes no decisions: deadlines are the caller's contexts,
// and the loop decides what follows from an error class or an unknown outcome.
//
// An outcome is unknown unless the plugin says otherwise: a missing answer, a broken
// connection, a deadline, a crash and an unset field all leave it unknown. Only a plugin
// can claim that nothing was created.
//
// Package process owns the plugin's operating system process; package pluginlog reads what it
// writes.
package pluginhost
