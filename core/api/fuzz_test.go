package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// fuzzBody holds a route to its contract whatever its body is: an answer that is
// JSON, a problem unless it is a success, and nothing that the service failed with
// inside.
func fuzzBody(f *testing.F, path string, seeds ...string) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := answerTo(allowing(lab()), ask(http.MethodPost, path, body))
		if !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%d %q is not valid JSON", w.Code, w.Body)
		}
		if w.Code >= 500 || w.Code >= 300 && w.Header().Get("Content-Type") != "application/problem+json" {
			t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		if w.Code >= 300 && w.Body.Len() > 64<<10 {
			t.Fatalf("a refusal of %d bytes for a body of %d", w.Body.Len(), len(body))
		}
	})
}

func FuzzPlanBody(f *testing.F) {
	fuzzBody(
		f,
		"/v1/plan",
		plainPlan,
		"",
		"null",
		"{}",
		`{"sources":null,"lock":"","variables":{}}`,
		`{"sources":[{"name":1}]}`,
		strings.Repeat("[", 1000),
		`{"sources":[{"name":"a","bytes":"!"}],"lock":"","variables":{"assignments":["a"],"files":[{"name":"b","bytes":"YQ=="}]},"prune":true}`,
	)
}

func FuzzApplyBody(f *testing.F) {
	fuzzBody(
		f,
		"/v1/apply",
		applyBody("7"),
		applyBody("-1"),
		applyBody("1e300"),
		"{",
		"[]",
		`{"submission":{},"approval":{"fleets":{"":""}}}`,
	)
}

func FuzzTokenBody(f *testing.F) {
	fuzzBody(
		f,
		"/v1/tokens",
		`{"name":"ci","permissions":["fleet.read"]}`,
		`{"name":"","permissions":[]}`,
		`{"name":"x","permissions":["fleet.read"],"for_seconds":9223372036854775807}`,
		`{"name":"x","permissions":[null],"fleets":[{}]}`,
		"\x00",
		`"x"`,
	)
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(cursorOf(position{Fleet: "fleet.linux", Created: now, ID: "i"}))
	f.Add("bnVsbA")
	f.Fuzz(func(t *testing.T, cursor string) {
		p, err := readCursor(cursor)
		if err == nil && p != nil {
			if again, err := readCursor(cursorOf(*p)); err != nil || byPosition(*again, *p) != 0 {
				t.Fatalf("%+v became %+v, %v", p, again, err)
			}
		}
	})
}
