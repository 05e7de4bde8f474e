package api

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
)

var update = flag.Bool("update", false, "rewrite docs/openapi.json")

const (
	documentFile = "../../docs/openapi.json"
	pageFile     = "../../docs/http-api.md"
)

func TestTheDocumentInDocsIsThatOfTheRoutes(t *testing.T) {
	want, err := Document()
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
		t.Errorf("docs/openapi.json isn't what the routes say (%v); write it again with: go generate ./core/api", err)
	}
}

func validating(t *testing.T) validator.Validator {
	t.Helper()
	text, err := Document()
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

func TestRequestsAndAnswersAreAsTheDocumentSays(t *testing.T) {
	v := validating(t)
	check := func(t *testing.T, r *http.Request, w *httptest.ResponseRecorder) {
		t.Helper()
		response := w.Result()
		response.Request = r
		if ok, errs := v.ValidateHttpResponse(r, response); !ok {
			for _, e := range errs {
				t.Errorf("%s %s, %d: %s: %s %v\n%s", r.Method, r.URL, w.Code, e.Message, e.Reason, e.SchemaValidationErrors, w.Body)
			}
		}
	}
	for _, o := range operations(t) {
		r := o.request()
		r.Header.Set("Authorization", "Bearer "+secret)
		if r.Method == http.MethodPost {
			r.Header.Set("Content-Type", "application/json")
		}
		if ok, errs := v.ValidateHttpRequest(r); !ok {
			t.Errorf("%s %s: %v", o.method, o.path, errs)
		}
		check(t, r, answerTo(allowing(lab()), r))
		refused := o.request()
		check(t, refused, answerTo(allowing(lab()), refused))
	}
	for _, failure := range failures() {
		s := lab()
		s.err = failure
		r := ask("POST", "/v1/plan", plainPlan)
		r.Header.Set("Content-Type", "application/json")
		check(t, r, answerTo(allowing(s), r))
	}
}

func TestThePageHasEveryRouteAndEveryKindOfProblem(t *testing.T) {
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, o := range operations(t) {
		if row := "| `" + o.method + " " + o.path + "` |"; !strings.Contains(page, row) {
			t.Errorf("the page lacks %s", row)
		}
	}
	for _, code := range []string{codeBadRequest, codeUnauthenticated, codeDenied, codeNotFound, codeMethod, codeConflict,
		codeStale,
		codeTooLarge, codeMediaType, codeInvalid, codeDiagnostics, codeInternal, codeBusy, codeEnding} {
		if !strings.Contains(page, "| `"+code+"` |") {
			t.Errorf("the page lacks the problem %s", code)
		}
	}
}
