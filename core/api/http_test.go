package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// ask is a request with a token for everything.
func ask(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.TLS = &tls.ConnectionState{}
	r.Header.Set("Authorization", "Bearer "+secret)
	return r
}

func allowing(s installation.Service) *Handler { return handler(s, tokens{secret: everything}) }

const plainPlan = `{"sources":[{"name":"a.hcl","bytes":""}],"lock":"","variables":{}}`

func applyBody(serial string) string {
	return `{"submission":` + plainPlan + `,"approval":{"serial":` + serial +
		`,"format":1,"lock":"","settings":"","fleets":{}}}`
}

func TestEveryRefusalIsAProblemWithoutTheRequestsValues(t *testing.T) {
	const planted = "hunter2-planted"
	many := `{"name":"` + strings.Repeat("x", usualBody) + `"}`
	for _, test := range []struct {
		name, method, path, body string
		status                   int
		code                     string
	}{
		{"no such path", "GET", "/v1/nothing", "", 404, codeNotFound},
		{"the root", "GET", "/", "", 404, codeNotFound},
		{"a path that would be cleaned", "GET", "/v1//fleets/../x", "", 404, codeNotFound},
		{"another method", "DELETE", "/v1/fleets", "", 405, codeMethod},
		{"no such fleet", "GET", "/v1/fleets/" + planted + "x", "", 404, codeNotFound},
		{"no body", "POST", "/v1/plan", "", 400, codeBadRequest},
		{"no JSON", "POST", "/v1/plan", planted, 400, codeBadRequest},
		{"half of JSON", "POST", "/v1/plan", `{"sources":["` + planted, 400, codeBadRequest},
		{"another type", "POST", "/v1/plan", `{"sources":"` + planted + `","lock":"","variables":{}}`, 422, codeInvalid},
		{"an unknown field", "POST", "/v1/plan", `{"sources":[],"lock":"","variables":{},"x":"` + planted + `"}`, 422,
			codeInvalid},
		{"no base64", "POST", "/v1/plan", `{"sources":[{"name":"a","bytes":"` + planted + `!"}],"lock":"","variables":{}}`,
			422, codeInvalid},
		{"no permission of that name", "POST", "/v1/tokens", `{"name":"x","permissions":["` + planted + `"]}`, 422,
			codeInvalid},
		{"a number too large", "POST", "/v1/tokens", `{"name":"x","permissions":["fleet.read"],"for_seconds":1e999}`, 400,
			codeBadRequest},
		{"a whole number with an exponent", "POST", "/v1/tokens",
			`{"name":"x","permissions":["fleet.read"],"for_seconds":1e3}`, 422, codeInvalid},
		{"too much", "POST", "/v1/tokens", many, 413, codeTooLarge},
		{"an unknown parameter", "GET", "/v1/fleets?x=" + planted, "", 422, codeInvalid},
		{"a limit of words", "GET", "/v1/audit?limit=" + planted, "", 422, codeInvalid},
		{"a limit too large", "GET", "/v1/audit?limit=1001", "", 422, codeInvalid},
		{"a state that is none", "GET", "/v1/instances?state=" + planted, "", 422, codeInvalid},
		{"a cursor of others", "GET", "/v1/instances?cursor=" + planted, "", 422, codeInvalid},
	} {
		w := answerTo(allowing(lab()), ask(test.method, test.path, test.body))
		wantProblem(t, operation{method: test.method, path: test.path}, test.name, w, test.status, test.code)
		if strings.Contains(w.Body.String(), planted) && test.code != codeNotFound {
			t.Errorf("%s: the answer repeats the value: %s", test.name, w.Body)
		}
		if strings.Contains(w.Body.String(), "control.") || strings.Contains(w.Body.String(), "Go ") {
			t.Errorf("%s: the answer tells of the program's inside: %s", test.name, w.Body)
		}
	}
	w := answerTo(allowing(lab()), ask("PUT", "/v1/tokens", ""))
	if allow := w.Header().Get("Allow"); !strings.Contains(allow, "POST") || !strings.Contains(allow, "GET") {
		t.Errorf("Allow is %q", allow)
	}
}

func TestAPanicIsAProblemAndTheServerGoesOn(t *testing.T) {
	s := &panics{service: lab()}
	h := allowing(s)
	w := answerTo(h, ask("GET", "/v1/audit", ""))
	wantProblem(t, operation{path: "/v1/audit"}, "a panic", w, 500, codeInternal)
	if strings.Contains(w.Body.String(), "hunter2") {
		t.Errorf("the answer is %s", w.Body)
	}
	if w := answerTo(h, ask("GET", "/v1/fleets", "")); w.Code != 200 {
		t.Errorf("afterwards: %d", w.Code)
	}
}

type panics struct{ *service }

func (panics) Audit(context.Context, int) ([]access.AuditRecord, error) { panic("hunter2") }

func TestASubmissionIsTakenUpToItsLimitAndNoFurther(t *testing.T) {
	body := func(bytes int) string {
		return `{"sources":[{"name":"a.hcl","bytes":"` + strings.Repeat("AAAA", bytes/3) + `"}],"lock":"","variables":{}}`
	}
	s := lab()
	if w := answerTo(allowing(s), ask("POST", "/v1/plan", body(11<<20))); w.Code != 200 {
		t.Errorf("11 MiB: %d %.200s", w.Code, w.Body)
	}
	w := answerTo(allowing(s), ask("POST", "/v1/plan", body(13<<20)))
	wantProblem(t, operation{path: "/v1/plan"}, "13 MiB", w, 413, codeTooLarge)
	c := dial(t, onSocket(t, allowing(s)))
	big := submission()
	big.Sources[0].Bytes = make([]byte, 13<<20)
	if _, err := c.Plan(t.Context(), big); !strings.Contains(err.Error(), "too many for a manager elsewhere") {
		t.Errorf("the client: %v", err)
	}
}

func TestNothingOfABodyIsReadBeforeTheCallerIsKnown(t *testing.T) {
	for _, path := range []string{"/v1/plan", "/v1/apply", "/v1/tokens"} {
		r := ask("POST", path, "")
		r.Header.Del("Authorization")
		r.Body = io.NopCloser(iotest.ErrReader(errors.New("it was read")))
		if w := answerTo(allowing(lab()), r); w.Code != 401 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestWhatDidNotChangeIsNotSentAgain(t *testing.T) {
	s := lab()
	h := allowing(s)
	first := answerTo(h, ask("GET", "/v1/fleets", ""))
	tag := first.Header().Get("ETag")
	for header, want := range map[string]int{tag: 304, `"x", W/` + tag: 304, "*": 304, `"x"`: 200, "": 200} {
		r := ask("GET", "/v1/fleets", "")
		r.Header.Set("If-None-Match", header)
		w := answerTo(h, r)
		if w.Code != want || w.Header().Get("ETag") != tag || (w.Body.Len() == 0) != (want == 304) {
			t.Errorf("If-None-Match %s: %d, ETag %s, %d bytes", header, w.Code, w.Header().Get("ETag"), w.Body.Len())
		}
	}
	s.fleets[0].Desired++
	r := ask("GET", "/v1/fleets", "")
	r.Header.Set("If-None-Match", tag)
	if w := answerTo(h, r); w.Code != 200 {
		t.Errorf("after a change: %d", w.Code)
	}
}

func TestAPlansETagIsItsSerialAndAppliesMustAgreeWithIt(t *testing.T) {
	s := lab()
	h := allowing(s)
	if w := answerTo(h, ask("POST", "/v1/plan", plainPlan)); w.Header().Get("ETag") != `"7"` {
		t.Errorf("the plan's ETag is %s", w.Header().Get("ETag"))
	}
	for header, want := range map[string]int{"": 200, `"7"`: 200, `"8"`: 422, "7": 422, `W/"7"`: 422, "*": 422,
		`"x"`: 422} {
		r := ask("POST", "/v1/apply", applyBody("7"))
		if header != "" {
			r.Header.Set("If-Match", header)
		}
		if w := answerTo(h, r); w.Code != want || want == 200 && w.Header().Get("ETag") != `"8"` {
			t.Errorf("If-Match %s: %d %s %s", header, w.Code, w.Header().Get("ETag"), w.Body)
		}
	}
}

func TestAStaleApplySaysWhoAppliedWhat(t *testing.T) {
	s := lab()
	s.err = &plans.StaleError{By: "bob", At: now, Serial: 8, Reason: "the plan was made from definition 7"}
	w := answerTo(allowing(s), ask("POST", "/v1/apply", applyBody("7")))
	wantProblem(t, operation{path: "/v1/apply"}, "a stale plan", w, http.StatusPreconditionFailed, codeStale)
	if !strings.Contains(w.Body.String(), `"by":"bob"`) {
		t.Errorf("the answer is %s", w.Body)
	}
}

func TestPagesHoldEveryInstanceOnceWhileOthersComeAndGo(t *testing.T) {
	s := lab()
	s.instances = nil
	place := func(id string, f fleet.FleetAddress) {
		s.instances = append(
			s.instances,
			view.Instance{ID: fleet.CapacityInstanceID(id), Fleet: f, Created: now, State: fleet.Healthy},
		)
	}
	for _, id := range []string{"a", "c", "e", "g"} {
		place(id, "fleet.linux")
	}
	place("x", "fleet.mac")
	h := allowing(s)
	var seen []string
	cursor := ""
	for {
		var list List[view.Instance]
		w := answerTo(h, ask("GET", "/v1/instances?limit=2&fleet=linux&cursor="+cursor, ""))
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != 200 {
			t.Fatal(w.Code, w.Body, err)
		}
		for _, i := range list.Items {
			seen = append(seen, string(i.ID))
		}
		if list.Next == "" {
			break
		}
		cursor = list.Next
		s.instances = s.instances[1:] // the page's first is gone
		place("b", "fleet.linux")     // and one came that is before the cursor
	}
	if got := strings.Join(seen, ""); got != "aceg" {
		t.Errorf("seen %s", got)
	}
	for _, query := range []string{"", "&all=true"} {
		wantProblem(
			t,
			operation{path: "/v1/instances"},
			"an unknown fleet",
			answerTo(h, ask("GET", "/v1/instances?fleet=nofleet"+query, "")),
			http.StatusNotFound,
			codeNotFound,
		)
	}
	w := answerTo(h, ask("GET", "/v1/instances?state=draining", ""))
	if !strings.Contains(w.Body.String(), `{"items":[]}`) {
		t.Errorf("draining: %s", w.Body)
	}
}

// The time for reading a request must not run on while the service works: the
// connection's reader would end the request.
func TestAPlanMayTakeLongerThanItsBody(t *testing.T) {
	s := &slow{service: lab()}
	h := allowing(s)
	r := ask("POST", "/v1/plan", plainPlan)
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	s.during = func() { s.open = w.read.IsZero() }
	h.ServeHTTP(w, r)
	if w.Code != 200 || !w.set || !s.open {
		t.Errorf("%d; a deadline was set: %v, and lifted for the service: %v", w.Code, w.set, s.open)
	}
	if !w.write.IsZero() {
		t.Error("the next request on the connection begins with this one's deadline")
	}
}

type slow struct {
	*service
	during func()
	open   bool
}

func (s *slow) Plan(context.Context, plans.Submission) (plans.Plan, error) {
	s.during()
	return plans.Plan{}, nil
}

type deadlines struct {
	*httptest.ResponseRecorder
	read, write time.Time
	set         bool
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.read, d.set = at, d.set || !at.IsZero()
	return nil
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.write = at
	return nil
}

func TestASocketTakesTheOldOnesPlaceButNoFilesAndIsForItsOwner(t *testing.T) {
	h := allowing(lab())
	e := onSocket(t, h)
	l, err := ListenUnix(t.Context(), e.Socket) // as after a crash: the path is still there
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/f"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a file": file, "a path too long": "/" + strings.Repeat("x", 200)} {
		if l, err := ListenUnix(t.Context(), path); err == nil {
			t.Errorf("%s was taken", name)
			_ = l.Close()
		}
	}
}

func TestTheListenerOfTokensSpeaksNothingButTLS(t *testing.T) {
	e := onTLS(t, allowing(lab()), secret)
	conn, err := net.Dial("tcp", strings.TrimPrefix(e.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(
		[]byte("GET /v1/fleets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + secret + "\r\n\r\n"),
	); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(conn)
	if bytes.Contains(answer, []byte(" 200 ")) {
		t.Errorf("without TLS: %s", answer)
	}
}
