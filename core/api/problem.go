package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/problem"
	_ "github.com/forgeyard/forgeyard-fleet/core/problem/humaerror" // huma's refusals are problems
)

// Problem is every answer that isn't the wanted one: a problem with what the manager's
// errors have besides.
type Problem struct {
	problem.Problem
	// What follows is there with its own code.
	Diagnostics config.Diagnostics `json:"diagnostics,omitempty" doc:"With the code diagnostics: the errors and warnings in the files."`
	Stale       *plans.StaleError  `json:"stale,omitempty" doc:"With the code stale: who applied what in between."`
	Denied      *Denial            `json:"denied,omitempty" doc:"With the code denied: the permission that the caller lacks."`
	Missing     *Absence           `json:"missing,omitempty" doc:"With the code not_found: the missing object."`
}

// failed is the problem of a status, with its code and detail.
func failed(status int, code, detail string) *Problem {
	p := &Problem{Problem: *problem.New(status, detail)}
	p.Code = code
	return p
}

// Denial is an access.DeniedError.
type Denial struct {
	Caller  string `json:"caller"`
	UseCase string `json:"use_case"`
	Needs   string `json:"needs,omitempty"`
	Fleet   string `json:"fleet,omitempty"`
}

// Absence is an access.NotFoundError.
type Absence struct {
	Kind string `json:"kind,omitempty"`
	ID   string `json:"id"`
}

// The kinds of problem.
const (
	codeBadRequest      = problem.CodeBadRequest
	codeUnauthenticated = "unauthenticated"
	codeDenied          = "denied"
	codeNotFound        = "not_found"
	codeMethod          = "method_not_allowed"
	codeConflict        = "conflict"
	codeStale           = "stale"
	codeTooLarge        = problem.CodeTooLarge
	codeMediaType       = problem.CodeMediaType
	codeInvalid         = problem.CodeInvalid
	codeDiagnostics     = "diagnostics"
	codeInternal        = problem.CodeInternal
	codeBusy            = "busy"
	codeEnding          = "ending"
)

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
	p := failed(0, "", err.Error())
	as := func(status int, code string) { p.Status, p.Code = status, code }
	if ready, ok := errors.AsType[*Problem](err); ok {
		return ready
	}
	if found, ok := errors.AsType[config.Diagnostics](err); ok {
		as(http.StatusUnprocessableEntity, codeDiagnostics)
		p.Diagnostics, p.Detail = found, "the files have errors; see diagnostics"
	} else if stale, ok := errors.AsType[*plans.StaleError](err); ok {
		as(http.StatusPreconditionFailed, codeStale)
		p.Stale = stale
	} else if denied, ok := errors.AsType[*access.DeniedError](err); ok {
		as(http.StatusForbidden, codeDenied)
		p.Denied = &Denial{
			Caller:  denied.Caller,
			UseCase: denied.UseCase,
			Needs:   string(denied.Needs),
			Fleet:   string(denied.Fleet),
		}
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
	h.config.Log.Error(
		"a request's handler panicked",
		"route",
		r.Pattern,
		"reason",
		fmt.Sprint(reason),
		"stack",
		string(debug.Stack()),
	)
	if a.begun() {
		panic(http.ErrAbortHandler) // a stream that breaks off, rather than one that seems to end
	}
	a.reset()
	problem.Write(a, problemOf(errors.New("panic")))
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
