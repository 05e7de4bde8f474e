package queue

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
)

func (s *Server) lease(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	var body worker.LeaseRequest
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	if !nameForm.MatchString(body.Session) {
		return 0, nil, &httpError{http.StatusUnprocessableEntity, fmt.Sprintf("session: %.40q is no session's name", body.Session)}
	}
	ctx, cancel, err := within(r, body.WaitSeconds)
	if err != nil {
		return 0, nil, err
	}
	defer cancel()
	lease, granted, err := s.queue.Lease(ctx, r.PathValue("runner"), body.Session, r.PathValue("lease"))
	if err == nil && !granted {
		return http.StatusNoContent, nil, nil
	}
	return http.StatusOK, lease, err
}

func (s *Server) giveBack(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	return http.StatusNoContent, nil, s.queue.Return(r.PathValue("runner"), r.PathValue("lease"))
}

func (s *Server) renew(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	var body worker.RenewRequest
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	ctx, cancel, err := within(r, body.WaitSeconds)
	if err != nil {
		return 0, nil, err
	}
	defer cancel()
	orders, err := s.queue.Renew(ctx, r.PathValue("runner"), r.PathValue("lease"), body.Tail)
	return http.StatusOK, orders, err
}

func (s *Server) finish(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	var body worker.Result
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.queue.Finish(r.PathValue("runner"), r.PathValue("lease"), body)
}

// within is a request's context until the wait that it asks for is over.
func within(r *http.Request, seconds float64) (context.Context, context.CancelFunc, error) {
	if !(seconds >= 0 && seconds <= longestWait.Seconds()) {
		return nil, nil, &httpError{http.StatusUnprocessableEntity, fmt.Sprintf("wait_seconds: %g is not from 0 to %g", seconds, longestWait.Seconds())}
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(seconds*float64(time.Second)))
	return ctx, cancel, nil
}
