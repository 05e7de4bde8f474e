package pluginlog

import (
	"context"
	"io"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// LibraryLogger logs go-plugin's own messages for debugging. What matters of them is
// shown as errors and states.
func LibraryLogger(logger *slog.Logger) hclog.Logger {
	if !logger.Enabled(context.Background(), slog.LevelDebug) {
		return hclog.NewNullLogger()
	}
	intercept := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Debug})
	intercept.RegisterSink(librarySink{logger})
	return intercept
}

type librarySink struct{ logger *slog.Logger }

// Accept implements hclog.SinkAdapter.
func (s librarySink) Accept(_ string, level hclog.Level, message string, arguments ...any) {
	if level >= hclog.Debug {
		s.logger.Debug("go-plugin: "+message, arguments...)
	}
}
