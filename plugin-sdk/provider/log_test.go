package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
)

func TestRecordsAreHclogLines(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(&logHandler{out: &out, level: slog.LevelInfo, module: "acme"})
	logger.Debug("not this one")
	logger.With("a", 1).WithGroup("g").With("b", true).Warn("careful",
		"wait", 2*time.Second, "err", errors.New("broken"), slog.Group("h", "c", "d"), "doc",
		bootstrap.Document{Token: "tok-secret"})
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("not one JSON line: %v\n%s", err, out.String())
	}
	if _, err := time.Parse("2006-01-02T15:04:05.000000Z07:00", line["@timestamp"].(string)); err != nil {
		t.Error(err)
	}
	delete(line, "@timestamp")
	want := map[string]any{
		"@level": "warn", "@message": "careful", "@module": "acme",
		"a": 1.0, "g.b": true, "g.wait": "2s", "g.err": "broken", "g.h.c": "d",
		"g.doc": bootstrap.Document{}.String(),
	}
	if !reflect.DeepEqual(line, want) {
		t.Errorf("got  %v\nwant %v", line, want)
	}
}

// go-plugin 1.8.0 panics in the host on {"@message": 1}.
func TestNoKeyCanReplaceOneOfHclogs(t *testing.T) {
	var out bytes.Buffer
	slog.New(&logHandler{out: &out, module: "acme"}).With("@level", 1).Info("m", "@message", 1, "@timestamp", false)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"@message", "@level", "@timestamp", "@module"} {
		if _, isText := line[key].(string); !isText {
			t.Errorf("%s is %v", key, line[key])
		}
	}
}

// The handler keeps slog's own rules; only its keys and its flat groups differ.
func TestHandlerKeepsTheRulesOfSlog(t *testing.T) {
	var out bytes.Buffer
	slogtest.Run(t, func(t *testing.T) slog.Handler {
		out.Reset()
		return &logHandler{out: &out, module: "acme"}
	}, func(t *testing.T) map[string]any {
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		nested := map[string]any{"level": line["@level"], "msg": line["@message"]}
		if line["@timestamp"] != nil {
			nested["time"] = line["@timestamp"]
		}
		for key, value := range line {
			if !strings.HasPrefix(key, "@") {
				nest(nested, strings.Split(key, "."), value)
			}
		}
		return nested
	})
}

func nest(into map[string]any, path []string, value any) {
	if len(path) == 1 {
		into[path[0]] = value
		return
	}
	inner, _ := into[path[0]].(map[string]any)
	if inner == nil {
		inner = map[string]any{}
		into[path[0]] = inner
	}
	nest(inner, path[1:], value)
}

func TestLevelsOfTheHost(t *testing.T) {
	for text, want := range map[string]slog.Level{
		"trace": levelTrace, "DEBUG": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn,
		"error": slog.LevelError, "": slog.LevelInfo, "loud": slog.LevelInfo,
	} {
		if got := parseLevel(text); got != want {
			t.Errorf("%q: got %v, wanted %v", text, got, want)
		}
	}
}
