package pluginhost

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// passedVariables are what every plugin sees of the host's environment: enough
// for a program to run, to reach a cloud through a proxy and to trust its
// certificate. All else has to be named by the fleet file, so that a plugin
// doesn't get another provider's credentials (hashicorp/vault#25128).
var passedVariables = []string{
	"HOME", "PATH", "TMPDIR", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ",
	"XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
	"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY",
	"https_proxy", "http_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
}

// environment is the plugin's whole environment. What go-plugin and the
// contract set comes last and wins.
func environment(l Launch, handshake []string, socketDir string) ([]string, error) {
	var env []string
	for _, name := range append(append([]string(nil), passedVariables...), l.Env...) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Errorf(
				"environment variable name %q is not one; correct env of plugin %q in required_plugins",
				name,
				l.Plugin,
			)
		}
		if value, ok := l.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	env = append(env, handshake...)
	return append(env,
		"PLUGIN_UNIX_SOCKET_DIR="+socketDir,
		fmt.Sprintf("%s=%d", providerpb.LaunchLockEnv, providerpb.LaunchLockFD),
		providerpb.LogLevelEnv+"="+logLevel(l.Logger),
	), nil
}

// logLevel is the lowest level that the logger keeps, as plugins name it.
func logLevel(logger *slog.Logger) string {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn} {
		if logger.Enabled(context.Background(), level) {
			return strings.ToLower(level.String())
		}
	}
	return "error"
}
