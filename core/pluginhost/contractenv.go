//go:build unix

package pluginhost

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/process"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var _ runner.Runner = (*process.Child)(nil)

// The launch lock is where the contract says that it is: else this doesn't compile.
var _ = [1]struct{}{}[process.LockFD-providerpb.LaunchLockFD]

// contractEnv are the variables that tell a plugin where to make its socket, where its
// launch lock is, and what to log.
func contractEnv(dir *process.Directory, logger *slog.Logger) []string {
	return []string{
		"PLUGIN_UNIX_SOCKET_DIR=" + dir.Sockets(),
		fmt.Sprintf("%s=%d", providerpb.LaunchLockEnv, process.LockFD),
		providerpb.LogLevelEnv + "=" + logLevel(logger),
	}
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
