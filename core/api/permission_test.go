package api

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// operation is a route as the OpenAPI document has it.
type operation struct {
	method, path string
	useCase      string
	open         bool
}

// operations reads the routes from the document, so that a new one can't be
// forgotten.
func operations(t testing.TB) []operation {
	t.Helper()
	text, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Security []map[string][]string
		Paths    map[string]map[string]struct {
			UseCase    string                 `json:"x-use-case"`
			Permission access.Permission      `json:"x-permission"`
			Security   *[]map[string][]string `json:"security"`
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var all []operation
	for path, item := range doc.Paths {
		for method, op := range item {
			if op.Permission != access.Permissions[op.UseCase] {
				t.Errorf(
					"%s %s needs %q, and the table says %q for %q",
					method,
					path,
					op.Permission,
					access.Permissions[op.UseCase],
					op.UseCase,
				)
			}
			all = append(all, operation{strings.ToUpper(method), path, op.UseCase, op.Security != nil && len(*op.Security) == 0})
		}
	}
	if len(all) < 15 || len(doc.Security) != 1 {
		t.Fatalf("%d routes, security %v", len(all), doc.Security)
	}
	return all
}

// request is one that the route's handler takes.
func (o operation) request() *http.Request {
	id := map[string]string{"/v1/instances/{id}": "if1", "/v1/tokens/{id}": "ci"}[o.path]
	if id == "" {
		id = "linux"
	}
	var body io.Reader
	if o.method == http.MethodPost {
		body = strings.NewReader(map[string]string{
			"/v1/plan":                   `{"sources":[],"lock":"","variables":{}}`,
			"/v1/apply":                  `{"submission":{"sources":[],"lock":"","variables":{}},"approval":{"serial":0,"format":1,"lock":"","settings":"","fleets":{}}}`,
			"/v1/tokens":                 `{"name":"ci","permissions":["fleet.read"]}`,
			"/v1/instances/{id}/resolve": `{"outcome":"created","provider_instance":"vm-1"}`,
			"/v1/instances/{id}/drain":   `{"force":true}`,
			"/v1/unrecorded/adopt":       `{"provider":"local.here","resource":"x","fleet":"fleet.linux","remove":true}`,
			"/v1/joins":                  `{"host":"mini-1"}`,

			"/v1/fleets/{id}/scale":         `{"min":3,"for_seconds":60}`,
			"/v1/instances/{id}/pin":        `{"for_seconds":60}`,
			"/v1/fleets/{id}/cost-override": `{"for_seconds":60,"reason":"incident 12"}`,
			"/v1/fleets/{id}/freeze":        `{"scale_up_only":true}`,
			"/v1/providers/{id}/freeze":     `{}`,
			"/v1/fleets/{id}/quarantine":    `{"reason":"incident 12"}`,
			"/v1/instances/{id}/quarantine": `{}`,
			"/v1/images/{id}/quarantine":    `{}`,
			"/v1/images/{id}/rollout":       `{"skip_soak":true}`,
			"/v1/images/{id}/rollback":      `{}`,
			"/v1/fleets/{id}/rollout":       `{"pause":true}`,
			"/v1/fleets/{id}/rollback":      `{"reason":"incident 12"}`,
			"/v1/reservations":              `{"capacity_class":"small","quantity":3,"start":"2027-01-10T08:00:00Z","end":"2027-01-10T18:00:00Z"}`,
		}[o.path])
	}
	r := httptest.NewRequest(o.method, strings.ReplaceAll(o.path, "{id}", id), body)
	r.TLS = &tls.ConnectionState{}
	return r
}

func answerTo(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestEveryRouteIsForWhomTheTableSaysAndNobodyElse(t *testing.T) {
	linux := []fleet.FleetAddress{"fleet.linux"}
	known := tokens{
		"all":     everything,
		"limited": {Name: "token limited", Permissions: access.AllPermissions(), Fleets: linux},
		"none":    {Name: "token none"},
	}
	for _, p := range access.AllPermissions() {
		known[string(p)] = access.Caller{Name: "token " + string(p), Permissions: []access.Permission{p}}
	}
	type attempt struct {
		name   string
		change func(*http.Request)
		caller access.Caller
		// proven says that the caller shows who they are.
		proven bool
	}
	bearer := func(secret string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) }
	}
	attempts := []attempt{
		{name: "no token", change: func(*http.Request) {}},
		{name: "an empty token", change: bearer("")},
		// Wrong, expired and revoked are one to this handler: control finds none.
		{name: "a wrong token", change: bearer("fyk_wrong")},
		{name: "basic", change: func(r *http.Request) { r.SetBasicAuth("all", "all") }},
		{
			name:   "two tokens",
			change: func(r *http.Request) { r.Header["Authorization"] = []string{"Bearer all", "Bearer all"} },
		},
		{name: "a token in the URL", change: func(r *http.Request) { r.URL.RawQuery = "access_token=all&token=all" }},
	}
	for secret, caller := range known {
		attempts = append(attempts, attempt{"the token " + secret, bearer(secret), caller, true})
	}
	for _, o := range operations(t) {
		for _, a := range attempts {
			s := lab()
			h := handler(s, known)
			r := o.request()
			a.change(r)
			w := answerTo(h, r)
			_, denied := access.Authorize(access.WithCaller(t.Context(), a.caller), o.useCase)
			may := o.useCase == "" || denied == nil
			switch {
			case o.open || a.proven && may:
				if w.Code >= 300 {
					t.Errorf("%s %s with %s: %d %s", o.method, o.path, a.name, w.Code, w.Body)
				}
			case a.proven:
				wantProblem(t, o, a.name, w, http.StatusForbidden, codeDenied)
			default:
				wantProblem(t, o, a.name, w, http.StatusUnauthorized, codeUnauthenticated)
				if w.Header().Get("WWW-Authenticate") != "Bearer" ||
					!strings.Contains(w.Body.String(), access.ErrUnauthenticated.Error()) {
					t.Errorf("%s %s with %s: %v %s", o.method, o.path, a.name, w.Header(), w.Body)
				}
			}
			if w.Code >= 300 && s.heard() != nil {
				t.Errorf("%s %s with %s reached the service", o.method, o.path, a.name)
			}
		}
	}
}

func wantProblem(t *testing.T, o operation, name string, w *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	var p Problem
	err := json.Unmarshal(w.Body.Bytes(), &p)
	if err != nil || w.Code != status || p.Status != status || p.Code != code || p.Title != http.StatusText(status) ||
		p.Detail == "" ||
		w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s %s with %s: got %d %v %s; want %d %s", o.method, o.path, name, w.Code, w.Header(), w.Body, status, code)
	}
}

func TestATokenForOtherFleetsSeesNothingOfThisOne(t *testing.T) {
	h := handler(
		lab(),
		tokens{"mac": {Name: "token mac", Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.mac"}},
			"each": {Name: "token each", Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{`fleet.each["a"]`}}},
	)
	for _, test := range []struct {
		token, path string
		status      int
		shows       string
	}{
		{"mac", "/v1/fleets", 200, `{"items":[]}`},
		{"mac", "/v1/instances", 200, `{"items":[]}`},
		{"mac", "/v1/fleets/linux", 404, ""},
		{"mac", "/v1/fleets/f1/capacity", 404, ""},
		{"mac", "/v1/fleets/fleet.linux/decisions", 404, ""},
		{"mac", "/v1/instances/if1", 404, ""},
		{"each", "/v1/fleets", 200, `"id":"f2"`},
		{"each", "/v1/fleets/f2/decisions", 200, `"id":"df2"`},
		{"each", "/v1/fleets/fleet.each%5B%22a%22%5D", 200, `"id":"f2"`},
		{"each", "/v1/instances", 200, `"id":"if2"`},
		{"each", "/v1/instances/if1", 404, ""},
	} {
		r := ask(http.MethodGet, test.path, "")
		r.Header.Set("Authorization", "Bearer "+test.token)
		w := answerTo(h, r)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.shows) ||
			strings.Contains(w.Body.String(), `"fleet.linux"`) && test.status == 200 {
			t.Errorf("%s of %s: %d %s", test.path, test.token, w.Code, w.Body)
		}
	}
}

func TestTheSocketIsForItsOwnerAndRootAndTakesNoToken(t *testing.T) {
	h := handler(lab(), tokens{"all": everything})
	h.config.Owner = 1000
	ask := func(uid int, token string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/v1/fleets", nil)
		r = r.WithContext(context.WithValue(r.Context(), peerKey{}, peer{uid: uid}))
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return answerTo(h, r)
	}
	for _, test := range []struct {
		name   string
		uid    int
		token  string
		status int
	}{
		{"the owner", 1000, "", 200},
		{"root", 0, "", 200},
		{"another user", 1001, "", 403},
		{"another user with a token", 1001, "all", 400},
		{"the owner with a token", 1000, "all", 400},
	} {
		if w := ask(test.uid, test.token); w.Code != test.status {
			t.Errorf("%s: %d %s", test.name, w.Code, w.Body)
		}
	}
}

func TestATokenIsNotTakenWithoutTLS(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/v1/fleets", nil)
	r.Header.Set("Authorization", "Bearer all")
	if w := answerTo(
		handler(lab(), tokens{"all": everything}),
		r,
	); w.Code != http.StatusForbidden ||
		!strings.Contains(w.Body.String(), "only over TLS") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestTheServiceHearsTheCallersName(t *testing.T) {
	s := lab()
	h := handler(s, tokens{secret: everything})
	for name, e := range map[string]Endpoint{"socket": onSocket(t, h),
		"tls": onTLS(t, handler(s, tokens{secret: everything}), secret)} {
		if _, err := dial(t, e).Fleets(t.Context()); err != nil {
			t.Fatal(err)
		}
		if name == "tls" && s.caller.Name != "token all" ||
			name == "socket" && (s.caller.Name == "" || s.caller.Name == "token all") ||
			len(s.caller.Permissions) != 7 {
			t.Errorf("over %s the caller is %+v", name, s.caller)
		}
	}
}
