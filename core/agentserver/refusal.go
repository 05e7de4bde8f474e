package agentserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// refusal is an error that the agent is told, with what the log should add. Its
// detail never holds a token, a request or anything else that the caller sent.
type refusal struct {
	status int
	code   string
	detail string
	about  []any // attributes for the log: operation, runner, instance
}

func (e *refusal) Error() string { return e.code + ": " + e.detail }

func (e *refusal) with(about ...any) *refusal {
	e.about = append(e.about, about...)
	return e
}

func forbidden(code, format string, args ...any) *refusal {
	return &refusal{status: http.StatusForbidden, code: code, detail: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, code: agentapi.CodeBadRequest, detail: fmt.Sprintf(format, args...)}
}

func ended(format string, args ...any) *refusal {
	return &refusal{status: http.StatusGone, code: agentapi.CodeInstanceEnded, detail: fmt.Sprintf(format, args...)}
}

func tryLater(detail string) *refusal {
	return &refusal{status: http.StatusServiceUnavailable, code: agentapi.CodeTryLater, detail: detail}
}

// storeFailed hides the store's error from the agent: it is for the log.
func storeFailed(doing string, err error) error {
	return tryLater("the manager can't reach its store").with("doing", doing, "error", err)
}

// refuse answers with the problem; the log hears of it at its own rate.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var no *refusal
	if !errors.As(err, &no) {
		no = tryLater("internal error of the manager; see its log").with("error", err)
	}
	s.refusals.note(known(r.URL.Path), address(r), no)
	s.facts.note(address(r), no, s.Now())
	switch no.code {
	case agentapi.CodeTryLater:
		w.Header().Set("Retry-After", "2")
	case agentapi.CodeTooMany:
		w.Header().Set("Retry-After", retryAfterTooMany)
		w.Header().Set("Connection", "close")
	}
	writeJSON(w, no.status, "application/problem+json", agentapi.Problem{
		Title: http.StatusText(no.status), Status: no.status, Detail: no.detail, Code: no.code,
	})
}

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller that hung up isn't our error
}

// decode reads a body as JSON. The decoder's own words would repeat pieces of
// the body, so they are left out.
func decode(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return badRequest("the body is not the JSON of this endpoint")
	}
	return nil
}

// known keeps a caller's own words out of the log.
func known(path string) string {
	switch path {
	case agentapi.EnrollPath, agentapi.HeartbeatPath, agentapi.RenewPath, agentapi.LeavePath, agentapi.DownloadPath:
		return path
	}
	return "unknown"
}

// address is where the call came from, without the port.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
