// Package providerpb is the wire contract between the fleet manager and one
// provider plugin process: the messages and the gRPC service generated from
// provider.proto, and the constants of the go-plugin handshake.
//
// It is the only package that the manager (core/pluginhost) and the plugin
// author's kit (plugin-sdk/provider) share. It decides nothing.
package providerpb

//go:generate ./generate.sh

// The go-plugin handshake. The cookie is no security: it lets a plugin that a
// person started by hand say so instead of waiting for a host for ever.
const (
	// MagicCookieKey is the environment variable that the host sets.
	MagicCookieKey = "FORGEYARD_FLEET_PLUGIN"
	// MagicCookieValue is what the host sets it to.
	MagicCookieValue = "c6ff1c62-provider"
	// ProtocolVersion is the major version of this package, as negotiated by
	// go-plugin's VersionedPlugins.
	ProtocolVersion = 1
	// PluginName is the one entry in go-plugin's plugin set.
	PluginName = "provider"
)

// Limits of the wire.
const (
	// MaxMessageBytes bounds one gRPC message in either direction.
	MaxMessageBytes = 16 << 20
	// MaxPage is how many resources one InspectResponse may carry.
	MaxPage = 500
)

// The file descriptor contract between host and plugin process. Standard input
// is a pipe that the host never writes to: end of file means the host is gone.
// The next descriptor is open on the launch's lock file; as long as the plugin
// process lives, the lock is held, so that a later manager can tell whether a
// plugin of its predecessor may still be calling the provider.
const (
	// LaunchLockFD is the inherited descriptor. A plugin must mark it
	// close-on-exec before it starts any child process; the Go SDK does.
	LaunchLockFD = 3
	// LaunchLockEnv is set to the number of LaunchLockFD where the host passes it.
	LaunchLockEnv = "FORGEYARD_FLEET_LAUNCH_LOCK_FD"
	// LogLevelEnv carries the host's log level ("debug", "info", …).
	LogLevelEnv = "FORGEYARD_FLEET_LOG_LEVEL"
)
