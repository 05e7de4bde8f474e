package view

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// A field without a name of its own would be read by programs under its name in
// this code, and break them when that changes.
func TestEveryFieldOfTheJSONHasASnakeCaseName(t *testing.T) {
	snake := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(of.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[of] || of == reflect.TypeFor[time.Time]() || of == reflect.TypeFor[reason.Reason]() {
			return // these say themselves how they look
		}
		seen[of] = true
		for n := range of.NumField() {
			f := of.Field(n)
			if f.Anonymous || !f.IsExported() {
				walk(f.Type)
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			if !snake.MatchString(name) {
				t.Errorf("%s.%s is called %q in JSON", of, f.Name, name)
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[Fleet]())
	walk(reflect.TypeFor[Instance]())
}

func TestADecisionIsShownWithoutItsIDs(t *testing.T) {
	got, err := json.Marshal(
		Decisions(
			[]fleet.Decision{{ID: "d1", Fleet: "f1", At: now, Kind: fleet.ScaleUp, Add: 2, Reason: reason.Plain("0 of 2")}},
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"at":"2026-11-29T12:00:00Z","kind":"scale_up","reason":{"code":"stored_text","params":{"words":"0 of 2"},"text":"0 of 2"},"add":2}]`; string(
		got,
	) != want {
		t.Errorf("%s, want %s", got, want)
	}
	if none, err := json.Marshal(Decisions(nil)); err != nil || string(none) != "[]" {
		t.Errorf("%s, %v", none, err)
	}
}
