package pluginlog

import (
	"context"
	"fmt"
	"log/slog"
)

// NewRedactedHandler is a log handler that shows nothing of the secrets that the
// redactor knows, whatever is logged.
func NewRedactedHandler(handler slog.Handler, redactor *Redactor) slog.Handler {
	return redactedHandler{handler, redactor}
}

type redactedHandler struct {
	slog.Handler
	redactor *Redactor
}

func (h redactedHandler) Handle(ctx context.Context, record slog.Record) error {
	redacted := slog.NewRecord(record.Time, record.Level, h.redactor.Redact(record.Message), record.PC)
	record.Attrs(func(attribute slog.Attr) bool {
		redacted.AddAttrs(h.attribute(attribute))
		return true
	})
	return h.Handler.Handle(ctx, redacted)
}

func (h redactedHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	redacted := make([]slog.Attr, len(attributes))
	for i, attribute := range attributes {
		redacted[i] = h.attribute(attribute)
	}
	return redactedHandler{h.Handler.WithAttrs(redacted), h.redactor}
}

func (h redactedHandler) WithGroup(name string) slog.Handler {
	return redactedHandler{h.Handler.WithGroup(name), h.redactor}
}

func (h redactedHandler) attribute(a slog.Attr) slog.Attr {
	a.Key, a.Value = h.redactor.Redact(a.Key), a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(h.redactor.Redact(a.Value.String()))
	case slog.KindGroup:
		var redacted []slog.Attr
		for _, inner := range a.Value.Group() {
			redacted = append(redacted, h.attribute(inner))
		}
		a.Value = slog.GroupValue(redacted...)
	case slog.KindAny:
		if text := fmt.Sprint(a.Value.Any()); h.redactor.Redact(text) != text {
			a.Value = slog.StringValue(h.redactor.Redact(text))
		}
	}
	return a
}
