package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// logHandler writes slog records in the shape that go-plugin's client reads
// from a plugin's standard error: one JSON object a line, as hclog writes it.
//
// A key that begins with "@" would be taken for one of hclog's own, and one of
// them that isn't a string crashes a host in go-plugin 1.8; such keys are renamed.
type logHandler struct {
	out    io.Writer // takes whole lines, from many goroutines
	level  slog.Level
	module string
	fields []logField // of WithAttrs
	prefix string     // of WithGroup
}

type logField struct {
	key   string
	value any
}

func (h *logHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

func (h *logHandler) Handle(_ context.Context, record slog.Record) error {
	line := map[string]any{
		"@level":   hclogLevel(record.Level),
		"@message": record.Message,
		"@module":  h.module,
	}
	if !record.Time.IsZero() {
		line["@timestamp"] = record.Time.Format("2006-01-02T15:04:05.000000Z07:00")
	}
	for _, field := range h.fields {
		line[field.key] = field.value
	}
	record.Attrs(func(attr slog.Attr) bool {
		for _, field := range flatten(nil, h.prefix, attr) {
			line[field.key] = field.value
		}
		return true
	})
	var encoded bytes.Buffer
	if err := json.NewEncoder(&encoded).Encode(line); err != nil {
		return fmt.Errorf("encode a log line: %w", err)
	}
	_, err := h.out.Write(encoded.Bytes())
	return err
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	derived := *h
	derived.fields = slices.Clone(h.fields)
	for _, attr := range attrs {
		derived.fields = flatten(derived.fields, h.prefix, attr)
	}
	return &derived
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	derived := *h
	derived.prefix += name + "."
	return &derived
}

// flatten turns groups into dotted keys and values into what JSON can hold.
func flatten(fields []logField, prefix string, attr slog.Attr) []logField {
	value := attr.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if attr.Key != "" {
			prefix += attr.Key + "."
		}
		for _, member := range value.Group() {
			fields = flatten(fields, prefix, member)
		}
		return fields
	}
	if attr.Key == "" && value.Any() == nil {
		return fields // the empty attribute, which slog says to drop
	}
	key := prefix + attr.Key
	if strings.HasPrefix(key, "@") {
		key = "_" + key[1:]
	}
	return append(fields, logField{key: key, value: plain(value)})
}

func plain(value slog.Value) any {
	switch value.Kind() {
	case slog.KindString, slog.KindBool, slog.KindInt64, slog.KindUint64:
		return value.Any()
	case slog.KindDuration, slog.KindFloat64:
		return value.String()
	case slog.KindTime:
		return value.Time().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(value.Any()) // by Error or String where there is one, so that redaction holds
}

func hclogLevel(level slog.Level) string {
	switch {
	case level < slog.LevelDebug:
		return "trace"
	case level < slog.LevelInfo:
		return "debug"
	case level < slog.LevelWarn:
		return "info"
	case level < slog.LevelError:
		return "warn"
	}
	return "error"
}

// levelTrace is hclog's level below debug.
const levelTrace = slog.LevelDebug - 4

// parseLevel reads the host's level; what it doesn't know is info.
func parseLevel(text string) slog.Level {
	switch strings.ToLower(text) {
	case "trace":
		return levelTrace
	case "debug":
		return slog.LevelDebug
	case "warn", "warning":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}

// transportLogger is for go-plugin itself, into the same stream.
func transportLogger(out io.Writer, level slog.Level, module string) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: module, Level: hclog.LevelFromString(hclogLevel(level)), Output: out, JSONFormat: true,
	})
}

// lineWriter keeps lines of several loggers apart.
type lineWriter struct {
	mutex sync.Mutex
	out   io.Writer
}

func (w *lineWriter) Write(line []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.out.Write(line)
}
