package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/control"
)

// Problem is every answer that isn't the wanted one (RFC 9457). It holds nothing
// of the request's values: a submission may carry secrets, and problems are
// logged by those who get them.
type Problem struct {
	Title  string `json:"title" doc:"The status in words."`
	Status int    `json:"status" doc:"The status code."`
	Detail string `json:"detail" doc:"What went wrong, and what to do."`
	Code   string `json:"code" doc:"What kind of problem it is, for programs."`
	// Fields are about single values of an invalid request.
	Fields []ProblemField `json:"fields,omitempty" doc:"With invalid: which values, and what is wrong with each."`
	// What follows is there with its own code.
	Diagnostics config.Diagnostics      `json:"diagnostics,omitempty" doc:"With diagnostics: the mistakes in the files, and warnings."`
	Stale       *control.StalePlanError `json:"stale,omitempty" doc:"With stale: who applied what in between."`
	Denied      *Denial                 `json:"denied,omitempty" doc:"With denied: what the caller lacks."`
	Missing     *Absence                `json:"missing,omitempty" doc:"With not_found: what isn't there."`
}

// ProblemField is one invalid value of a request.
type ProblemField struct {
	Location string `json:"location" doc:"Where it is: body.name, query.limit."`
	Message  string `json:"message" doc:"What was expected."`
}

// Denial is a access.DeniedError.
type Denial struct {
	Caller  string `json:"caller"`
	UseCase string `json:"use_case"`
	Needs   string `json:"needs,omitempty"`
	Fleet   string `json:"fleet,omitempty"`
}

// Absence is a access.NotFoundError.
type Absence struct {
	Kind string `json:"kind,omitempty"`
	ID   string `json:"id"`
}

// The kinds of problem.
const (
	codeBadRequest      = "bad_request"
	codeUnauthenticated = "unauthenticated"
	codeDenied          = "denied"
	codeNotFound        = "not_found"
	codeMethod          = "method_not_allowed"
	codeConflict        = "conflict"
	codeStale           = "stale"
	codeTooLarge        = "too_large"
	codeMediaType       = "media_type"
	codeInvalid         = "invalid"
	codeDiagnostics     = "diagnostics"
	codeInternal        = "internal"
	codeBusy            = "busy"
	codeEnding          = "ending"
)

// init makes huma's own refusals problems of ours. Its hook is one for the whole
// program, of which this package is the only user.
func init() { huma.NewError = refused }

func (p *Problem) Error() string {
	text := p.Detail
	for _, f := range p.Fields {
		text += fmt.Sprintf("; %s: %s", f.Location, f.Message)
	}
	return text
}

// GetStatus is for huma.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is for huma.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

func (p *Problem) write(w http.ResponseWriter) {
	p.Title = http.StatusText(p.Status)
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a caller that hung up isn't our error
}

// refused is what huma found wrong with a request before any handler saw it.
// Its words about single values stay, the values themselves go.
func refused(status int, _ string, errs ...error) huma.StatusError {
	p := &Problem{Status: status, Title: http.StatusText(status)}
	switch status {
	case http.StatusUnprocessableEntity:
		p.Code, p.Detail = codeInvalid, "the request isn't valid: fields says where; docs/openapi.json has the forms"
		for _, err := range errs {
			if detailed, ok := err.(huma.ErrorDetailer); ok {
				d := detailed.ErrorDetail()
				if strings.Contains(d.Message, "json:") { // the decoder's words are of values and of Go
					d.Message = "expected a value of the documented form"
				}
				p.Fields = append(p.Fields, ProblemField{Location: d.Location, Message: d.Message})
			}
		}
	case http.StatusRequestEntityTooLarge:
		p.Code, p.Detail = codeTooLarge, "the request's body is larger than this route takes"
	case http.StatusUnsupportedMediaType:
		p.Code, p.Detail = codeMediaType, "send application/json"
	case http.StatusRequestTimeout:
		p.Code, p.Detail = codeBadRequest, "the request's body took too long to come"
	case http.StatusInternalServerError:
		p.Code, p.Detail = codeInternal, "internal error of the manager; see its log"
	default:
		p.Code, p.Detail = codeBadRequest, "the body isn't the JSON of this route; docs/openapi.json has the forms"
	}
	return p
}

// problem says what a service failed with. What it doesn't know by type stays in
// the log; only the machine's owner, who can read that anyway, is told.
func (h *Handler) problem(ctx context.Context, err error) *Problem {
	p := problemOf(err)
	if p.Code == codeInternal && ctx.Err() == nil {
		h.config.Log.Error("a request failed", "error", err)
		if from(ctx) == socketSurface {
			p.Detail = err.Error()
		}
	}
	return p
}

func problemOf(err error) *Problem {
	p := &Problem{Detail: err.Error()}
	as := func(status int, code string) { p.Status, p.Code = status, code }
	if ready, ok := errors.AsType[*Problem](err); ok {
		return ready
	}
	if found, ok := errors.AsType[config.Diagnostics](err); ok {
		as(http.StatusUnprocessableEntity, codeDiagnostics)
		p.Diagnostics, p.Detail = found, "there are mistakes in the files: diagnostics has them"
	} else if stale, ok := errors.AsType[*control.StalePlanError](err); ok {
		as(http.StatusPreconditionFailed, codeStale)
		p.Stale = stale
	} else if denied, ok := errors.AsType[*access.DeniedError](err); ok {
		as(http.StatusForbidden, codeDenied)
		p.Denied = &Denial{Caller: denied.Caller, UseCase: denied.UseCase, Needs: string(denied.Needs), Fleet: string(denied.Fleet)}
	} else if missing, ok := errors.AsType[*access.NotFoundError](err); ok {
		as(http.StatusNotFound, codeNotFound)
		p.Missing = &Absence{Kind: missing.Kind, ID: missing.ID}
	} else if _, ok := errors.AsType[*access.ConflictError](err); ok {
		as(http.StatusConflict, codeConflict)
	} else if _, ok := errors.AsType[*access.InvalidError](err); ok {
		as(http.StatusUnprocessableEntity, codeInvalid)
	} else if errors.Is(err, access.ErrUnauthenticated) {
		as(http.StatusUnauthorized, codeUnauthenticated)
		p.Detail = access.ErrUnauthenticated.Error()
	} else {
		as(http.StatusInternalServerError, codeInternal)
		p.Detail = "internal error of the manager; see its log"
	}
	p.Title = http.StatusText(p.Status)
	return p
}

// panicked answers a request whose handler panicked.
func (h *Handler) panicked(a *answer, r *http.Request, reason any) {
	if reason == http.ErrAbortHandler {
		panic(reason)
	}
	h.config.Log.Error("a request's handler panicked", "route", r.Pattern, "reason", fmt.Sprint(reason), "stack", string(debug.Stack()))
	if a.begun() {
		panic(http.ErrAbortHandler) // a stream that breaks off, rather than one that seems to end
	}
	a.reset()
	problemOf(errors.New("panic")).write(a)
}

// errorOf is problemOf's inverse: the error that the service had.
func (p *Problem) errorOf() error {
	switch {
	case p.Code == codeDiagnostics && len(p.Diagnostics) > 0:
		return p.Diagnostics
	case p.Code == codeStale && p.Stale != nil:
		return p.Stale
	case p.Code == codeDenied && p.Denied != nil:
		return deniedError(*p.Denied)
	case p.Code == codeNotFound && p.Missing != nil:
		return &access.NotFoundError{Kind: p.Missing.Kind, ID: p.Missing.ID}
	case p.Code == codeUnauthenticated:
		return access.ErrUnauthenticated
	case p.Code == codeConflict:
		return &access.ConflictError{Reason: p.Detail}
	case p.Code == codeInvalid && len(p.Fields) == 0:
		return &access.InvalidError{Reason: p.Detail}
	}
	return p
}
