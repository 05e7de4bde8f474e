package pluginlog

import (
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// entry is one log line, understood.
type entry struct {
	level      slog.Level
	message    string
	attributes []slog.Attr
}

func (e entry) text() string {
	text := e.message
	for _, attribute := range e.attributes {
		text += " " + attribute.String()
	}
	return text
}

var hclogLevels = map[string]slog.Level{
	"trace": slog.LevelDebug - 4,
	"debug": slog.LevelDebug,
	"info":  slog.LevelInfo,
	"warn":  slog.LevelWarn,
	"error": slog.LevelError,
}

// parseLogLine reads hclog's JSON. Only an object with a textual message counts.
func parseLogLine(line []byte) (entry, bool) {
	if len(line) == 0 || line[0] != '{' {
		return entry{}, false
	}
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		return entry{}, false
	}
	message, ok := fields["@message"].(string)
	if !ok {
		return entry{}, false
	}
	record := entry{level: slog.LevelDebug, message: Printable(message)}
	if name, ok := fields["@level"].(string); ok {
		if level, known := hclogLevels[strings.ToLower(name)]; known {
			record.level = level
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch key {
		case "@message", "@level", "@timestamp":
			continue
		}
		value, ok := fields[key].(string)
		if !ok {
			encoded, err := json.Marshal(fields[key])
			if err != nil {
				continue
			}
			value = string(encoded)
		}
		record.attributes = append(record.attributes, slog.String(Printable(strings.TrimPrefix(key, "@")), Printable(value)))
	}
	return record, true
}
