package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/plainjson"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// Server is a queue over HTTP: the fleet manager's contract, the submitters' calls
// and the workers' own.
type Server struct {
	queue *Queue
	token string
	url   string
	mux   *http.ServeMux
}

// LeastTokenBytes is how long a token must be: runners' credentials are derived
// from it, and a short one could be guessed from them.
const LeastTokenBytes = 16

const (
	maxBodyBytes = 1 << 20
	longestWait  = time.Minute
)

// NewServer serves a queue. The URL is where workers reach it, the token what the
// manager and submitters show.
func NewServer(q *Queue, url, token string) (*Server, error) {
	if len(token) < LeastTokenBytes {
		return nil, fmt.Errorf("the queue's token has %d bytes, and needs at least %d: take a random one", len(token), LeastTokenBytes)
	}
	s := &Server{queue: q, token: token, url: strings.TrimSuffix(url, "/"), mux: http.NewServeMux()}
	for _, one := range s.routes() {
		s.mux.Handle(one.method+" "+one.path, s.guarded(one))
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem(w, http.StatusNotFound, fmt.Sprintf("there is no %s %.200q here; docs/scheduler-api.md lists what there is", r.Method, r.URL.Path))
	})
	return s, nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
	s.mux.ServeHTTP(w, r)
}

// nameForm is what names of runners and leases look like: they are parts of paths
// and of credentials.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

func (s *Server) guarded(one route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := s.ofOperator(r)
		if one.ofRunner {
			err = s.ofRunner(r)
		}
		for _, part := range []string{"runner", "lease"} {
			if name := r.PathValue(part); err == nil && strings.Contains(one.path, "{"+part+"}") && !nameForm.MatchString(name) {
				err = &httpError{http.StatusBadRequest, fmt.Sprintf("%.40q is no %s's name: those have 1 to 128 letters, digits, - and _, and begin with none of the latter", name, part)}
			}
		}
		status, body := 0, any(nil)
		if err == nil {
			status, body, err = one.answer(w, r)
		}
		if err != nil {
			s.fail(w, err)
			return
		}
		if text, isText := body.(string); isText {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			_, _ = io.WriteString(w, text)
			return
		}
		write(w, "application/json", status, body)
	})
}

func write(w http.ResponseWriter, kind string, status int, body any) {
	if status == http.StatusNoContent || status == http.StatusNotModified {
		w.WriteHeader(status)
		return
	}
	content, err := json.Marshal(body)
	if err != nil {
		problem(w, http.StatusInternalServerError, "the answer can't be encoded")
		return
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(append(content, '\n'))
}

// httpError is a refusal that has to do with HTTP alone.
type httpError struct {
	status int
	text   string
}

func (e *httpError) Error() string { return e.text }

func (s *Server) fail(w http.ResponseWriter, err error) {
	var plain *httpError
	var refused *RefusedError
	switch {
	case errors.As(err, &plain):
		if plain.status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="forgeyard-queue"`)
		}
		problem(w, plain.status, plain.text)
	case errors.As(err, &refused):
		problem(w, statusOf(refused.Kind), refused.Text)
	default:
		problem(w, http.StatusInternalServerError, err.Error())
	}
}

// statusOf: a client tells refusals apart by these.
func statusOf(kind RefusalKind) int {
	switch kind {
	case UnknownRunner, UnknownJob:
		return http.StatusNotFound
	case Void:
		return http.StatusGone
	case Superseded:
		return http.StatusConflict
	case Full:
		return http.StatusTooManyRequests
	}
	return http.StatusUnprocessableEntity
}

func problem(w http.ResponseWriter, status int, detail string) {
	write(w, "application/problem+json", status, forgeyard.Problem{Title: http.StatusText(status), Status: status, Detail: detail})
}

// decode reads a request's body strictly: what isn't understood is refused with
// its place.
func decode(r *http.Request, into any) error {
	content, err := io.ReadAll(r.Body)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return &httpError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", tooLarge.Limit)}
	}
	if err != nil {
		return &httpError{http.StatusBadRequest, "the body could not be read: " + err.Error()}
	}
	if trimmed := bytes.TrimSpace(content); len(trimmed) == 0 || trimmed[0] != '{' {
		return &httpError{http.StatusBadRequest, "the body must be a JSON object"}
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(into)
	if err != nil {
		err = plainjson.Explain(content, into, err)
	}
	switch mismatch := (*plainjson.Mismatch)(nil); {
	case errors.As(err, &mismatch):
		return &httpError{http.StatusUnprocessableEntity, mismatch.Error()}
	case err != nil && strings.HasPrefix(err.Error(), "json: unknown field"):
		return &httpError{http.StatusUnprocessableEntity, strings.TrimPrefix(err.Error(), "json: ") + ": docs/scheduler-api.md lists those that there are"}
	case err != nil:
		return &httpError{http.StatusBadRequest, "the body: " + err.Error()}
	}
	if _, err := decoder.Token(); err != io.EOF {
		return &httpError{http.StatusBadRequest, "the body has more than one JSON value"}
	}
	return nil
}

// notModified sets the entity tag of an answer as of a revision, and says that
// the caller has it already. The tag is weak: how long jobs have waited changes
// without a revision.
func notModified(w http.ResponseWriter, r *http.Request, revision int64) bool {
	tag := fmt.Sprintf(`"%d"`, revision)
	w.Header().Set("ETag", "W/"+tag)
	w.Header().Set("Cache-Control", "no-store")
	for known := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == tag || known == "*" {
			return true
		}
	}
	return false
}
