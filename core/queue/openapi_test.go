package queue_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

var update = flag.Bool("update", false, "rewrite docs/scheduler-openapi.json")

const (
	documentFile = "../../docs/scheduler-openapi.json"
	pageFile     = "../../docs/scheduler-api.md"
)

func TestTheDocumentInDocsIsThatOfTheRoutes(t *testing.T) {
	want, err := queue.Document()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(documentFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(documentFile)
	if err != nil || string(got) != string(want) {
		t.Errorf(
			"docs/scheduler-openapi.json isn't what the routes say (%v); write it again with: go generate ./core/queue",
			err,
		)
	}
}

func validating(t *testing.T) validator.Validator {
	t.Helper()
	text, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return v
}

// The validator shares no code with what makes the document.
func TestTheDocumentIsValidOpenAPI(t *testing.T) {
	if ok, errs := validating(t).ValidateDocument(); !ok {
		for _, e := range errs {
			t.Errorf("%s: %s %v", e.Message, e.Reason, e.SchemaValidationErrors)
		}
	}
}

// Everything that a queue answers in the life of two jobs is held against the
// document in docs.
func TestRequestsAndAnswersAreAsTheDocumentSays(t *testing.T) {
	v, s := validating(t), serve(t)
	called := map[string]bool{}
	call := func(bearer, method, path, body string, status int, header ...string) string {
		t.Helper()
		request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+bearer)
		if body != "" {
			request.Header.Set("Content-Type", "application/json")
		}
		for n := 0; n+1 < len(header); n += 2 {
			request.Header.Set(header[n], header[n+1])
		}
		if ok, errs := v.ValidateHttpRequest(request); !ok && status < 400 {
			t.Errorf("%s %s: %v", method, path, errs)
		}
		request.Body = io.NopCloser(strings.NewReader(body)) // the validator has read it
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != status {
			t.Fatalf("%s %s: %d %s, %v; want %d", method, path, response.StatusCode, content, err, status)
		}
		response.Body = io.NopCloser(bytes.NewReader(content))
		if ok, errs := v.ValidateHttpResponse(request, response); !ok {
			for _, e := range errs {
				t.Errorf("%s %s, %d: %s: %s %v\n%s", method, path, status, e.Message, e.Reason, e.SchemaValidationErrors, content)
			}
		}
		place := strings.NewReplacer("r1", "{runner}", "job-1", "{job}", "job-2", "{job}", "/l1", "/{lease}", "/l2",
			"/{lease}").
			Replace(path)
		place, _, _ = strings.Cut(place, "?")
		called[method+" "+place] = true
		return string(content)
	}
	var admitted forgeyard.Admitted
	if err := json.Unmarshal(
		[]byte(
			call(
				token,
				"PUT",
				"/v1/runners/r1",
				`{"fleet":"fleet.a","os":"linux","arch":"x86_64","capabilities":["docker"],"resources":{"cpu_milli":4000,"named":{"a":1}},"slots":2,"max_jobs":3}`,
				200,
			),
		),
		&admitted,
	); err != nil {
		t.Fatal(err)
	}
	own := admitted.Environment[worker.TokenVariable]
	const job = `{"command":["true"],"requirement":{"os":"linux","capabilities":["docker"]},"resources":{"cpu_milli":1,"named":{"a":1}},"env":{"A":"b"},"priority":1,"preemptible_allowed":true,"checkpoint":true}`
	call(token, "POST", "/v1/jobs", job, 201)
	call(token, "POST", "/v1/jobs", job, 201)
	call(token, "GET", "/v1/capacity-demand", "", 200)
	call(own, "PUT", "/v1/runners/r1/leases/l1", `{"session":"s","wait_seconds":0}`, 200)
	call(own, "POST", "/v1/runners/r1/leases/l1/renew", `{"tail":"x"}`, 200)
	call(token, "POST", "/v1/runners/r1/cordon", `{"cause":"interruption"}`, 200)
	call(own, "POST", "/v1/runners/r1/leases/l1/renew", `{}`, 200)
	call(own, "PUT", "/v1/runners/r1/leases/l2", `{"session":"s"}`, 204)
	call(own, "DELETE", "/v1/runners/r1/leases/l2", "", 204)
	call(token, "GET", "/v1/runners", "", 200)
	call(token, "POST", "/v1/runners/r1/uncordon", "", 200)
	call(own, "POST", "/v1/runners/r1/leases/l1/finish", `{"exit_status":1,"reason":"exit status 1","tail":"bye"}`, 204)
	for _, path := range []string{"/v1/jobs", "/v1/jobs/job-1", "/v1/jobs/job-1/log"} {
		call(token, "GET", path, "", 200)
	}
	call(token, "GET", "/v1/runners", "", 304, "If-None-Match", fmt.Sprintf(`W/"%d"`, s.Runners().Revision))
	call(token, "DELETE", "/v1/jobs/job-2", "", 200)
	call(token, "DELETE", "/v1/runners/r1?reason=normal", "", 204)
	call(token, "GET", "/v1/jobs/job-9", "", 404)
	call("", "GET", "/v1/jobs", "", 401)
	call(own, "GET", "/v1/jobs", "", 403)
	call(token, "POST", "/v1/jobs", `{}`, 422)
	for _, one := range operations(t) {
		if !called[one] {
			t.Errorf("%s was not called", one)
		}
	}
}

// operations are the document's, as METHOD PATH.
func operations(t *testing.T) (all []string) {
	t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	text, err := os.ReadFile(documentFile)
	if err != nil || json.Unmarshal(text, &document) != nil {
		t.Fatalf("the document can't be read: %v", err)
	}
	for path, methods := range document.Paths {
		for method := range methods {
			if method != "parameters" {
				all = append(all, strings.ToUpper(method)+" "+path)
			}
		}
	}
	if len(all) < 15 {
		t.Fatalf("the document has %d calls", len(all))
	}
	return all
}

func TestThePageHasEveryRouteAndEveryField(t *testing.T) {
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, one := range operations(t) {
		if !strings.Contains(page, "`"+one+"`") {
			t.Errorf("the page lacks %s", one)
		}
	}
	for _, wire := range []any{
		forgeyard.Demand{}, forgeyard.Queued{}, forgeyard.Requirement{}, forgeyard.Resources{}, forgeyard.Running{},
		forgeyard.Runners{}, forgeyard.Admit{},
		forgeyard.Admitted{}, forgeyard.Cordon{}, forgeyard.Acknowledgement{}, queue.Submission{}, queue.Job{}, queue.Jobs{},
		worker.LeaseRequest{}, worker.Lease{}, worker.RenewRequest{}, worker.Orders{}, worker.Result{},
	} {
		kind := reflect.TypeOf(wire)
		for n := range kind.NumField() {
			name, _, _ := strings.Cut(kind.Field(n).Tag.Get("json"), ",")
			if name != "-" && !strings.Contains(page, "`"+name+"`") {
				t.Errorf("the page lacks the field %s of %s", name, kind.Name())
			}
		}
	}
}
