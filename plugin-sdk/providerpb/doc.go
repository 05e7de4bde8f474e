// Package providerpb is the wire contract between the fleet manager and one
// provider plugin process: the messages and the gRPC service generated from
// provider.proto, and the constants of the go-plugin handshake.
//
// It is the only package that the manager (core/pluginhost) and the plugin
// author's kit (plugin-sdk/provider) share. It decides nothing.
package providerpb

//go:generate ./generate.sh

// The go-plugin handshake. The cookie gives no security: it lets a plugin that a
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

// Hosts that exist already. A plugin of an inventory lists each of its hosts by
// Inspect as a resource of the kind AssetKind, whose id is stable, with the tags
// AssetOS and AssetArch; every other tag is a label. The manager claims one for
// an instance and names it in Item.asset. Where the instance block has the
// attributes "hosts" (a list) and "labels" (a map), the manager reads them to
// choose: they limit a fleet to assets of these ids, and with these labels.
const (
	AssetKind = "asset"
	AssetOS   = "os"
	AssetArch = "arch"
	// JoinService among the services says that a person joins each host, by a
	// command that the manager prints: the manager makes none by itself. Such a
	// plugin needs only its provider block to be configured and inspected, since
	// both happen whenever a plan is made. No gRPC service goes with it.
	JoinService = "join"
)

// EventsService among the services says that the gRPC service Events is served.
const EventsService = "events"

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
