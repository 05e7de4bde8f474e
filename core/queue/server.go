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

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/forgeyard/forgeyard-fleet/core/plainjson"
	"github.com/forgeyard/forgeyard-fleet/core/problem"
)

// Server is a queue over HTTP: the fleet manager's contract, the submitters' calls
// and the workers' own.
type Server struct {
	queue *Queue
	token string
	url   string
	mux   *http.ServeMux
	api   huma.API
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
		return nil, fmt.Errorf(
			"the queue's token has %d bytes and needs at least %d: use a random one",
			len(token),
			LeastTokenBytes,
		)
	}
	return newServer(q, url, token), nil
}

func newServer(q *Queue, url, token string) *Server {
	s := &Server{queue: q, token: token, url: strings.TrimSuffix(url, "/"), mux: http.NewServeMux()}
	s.api = humago.New(s.mux, apiConfig())
	s.api.UseMiddleware(s.guard)
	s.addRoutes()
	s.polish()
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		detail := fmt.Sprintf("no such call: %s %.200q; docs/scheduler-api.md lists all calls", r.Method, r.URL.Path)
		problem.Write(w, problem.New(http.StatusNotFound, detail))
	})
	return s
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// nameForm is what names of runners and leases look like: they are parts of paths
// and of credentials.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// guard refuses a call before its body is read: without the credential that it takes, or
// with a name that can't be one.
func (s *Server) guard(ctx huma.Context, next func(huma.Context)) {
	r, _ := ctx.Operation().Metadata[routeKey].(route)
	err := s.ofOperator(ctx)
	if r.ofRunner {
		err = s.ofRunner(ctx)
	}
	for _, part := range []string{"runner", "lease"} {
		if name := ctx.Param(part); err == nil && strings.Contains(r.path, "{"+part+"}") && !nameForm.MatchString(name) {
			err = problem.New(
				http.StatusBadRequest,
				fmt.Sprintf(
					"invalid name %.40q of a %s: use 1 to 128 letters, digits, - and _, starting with a letter or digit",
					name,
					part,
				),
			)
		}
	}
	if err == nil {
		next(ctx)
		return
	}
	_, w := humago.Unwrap(ctx)
	p := problemOf(err)
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="forgeyard-queue"`)
	}
	problem.Write(w, p)
}

// problemOf is an error as a caller gets it.
func problemOf(err error) *problem.Problem {
	if ready, ok := errors.AsType[*problem.Problem](err); ok {
		return ready
	}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return problem.New(statusOf(refused.Kind), refused.Text)
	}
	return problem.New(http.StatusInternalServerError, err.Error())
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

// decode reads a request's body strictly: an unknown member is refused with its place.
func decode(content []byte, into any) error {
	refuse := func(status int, detail string) error { return problem.New(status, detail) }
	if trimmed := bytes.TrimSpace(content); len(trimmed) == 0 || trimmed[0] != '{' {
		return refuse(http.StatusBadRequest, "the body must be a JSON object")
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err != nil {
		err = plainjson.Explain(content, into, err)
	}
	switch mismatch := (*plainjson.Mismatch)(nil); {
	case errors.As(err, &mismatch):
		return refuse(http.StatusUnprocessableEntity, mismatch.Error())
	case err != nil && strings.HasPrefix(err.Error(), "json: unknown field"):
		return refuse(
			http.StatusUnprocessableEntity,
			strings.TrimPrefix(err.Error(), "json: ")+"; docs/scheduler-api.md lists the known ones",
		)
	case err != nil:
		return refuse(http.StatusBadRequest, "the body: "+err.Error())
	}
	if _, err := decoder.Token(); err != io.EOF {
		return refuse(http.StatusBadRequest, "the body has more than one JSON value")
	}
	return nil
}

// asOf is an answer as of a revision, or 304 if the caller has it already. The tag is weak:
// how long jobs have waited changes without a revision.
func asOf[T any](in *listInput, revision int64, body T) *listAnswer[T] {
	tag := fmt.Sprintf(`"%d"`, revision)
	out := &listAnswer[T]{Status: http.StatusOK, ETag: "W/" + tag, CacheControl: "no-store", Body: body}
	for known := range strings.SplitSeq(in.IfNoneMatch, ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == tag || known == "*" {
			out.Status = http.StatusNotModified
		}
	}
	return out
}
