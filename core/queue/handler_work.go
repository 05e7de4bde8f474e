package queue

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/problem"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
)

func (s *Server) lease(ctx context.Context, in *leaseBody) (*answer[worker.Lease], error) {
	var body worker.LeaseRequest
	if err := decode(in.RawBody, &body); err != nil {
		return nil, err
	}
	if !nameForm.MatchString(body.Session) {
		return nil, problem.New(http.StatusUnprocessableEntity, fmt.Sprintf("session: invalid name %.40q", body.Session))
	}
	ctx, cancel, err := within(ctx, body.WaitSeconds)
	if err != nil {
		return nil, err
	}
	defer cancel()
	lease, granted, err := s.queue.Lease(ctx, in.Runner, body.Session, in.Lease)
	if err == nil && !granted {
		return &answer[worker.Lease]{Status: http.StatusNoContent}, nil
	}
	return &answer[worker.Lease]{Status: http.StatusOK, Body: lease}, err
}

func (s *Server) giveBack(_ context.Context, in *leaseInput) (*noInput, error) {
	return nil, s.queue.Return(in.Runner, in.Lease)
}

func (s *Server) renew(ctx context.Context, in *leaseBody) (*answer[worker.Orders], error) {
	var body worker.RenewRequest
	if err := decode(in.RawBody, &body); err != nil {
		return nil, err
	}
	ctx, cancel, err := within(ctx, body.WaitSeconds)
	if err != nil {
		return nil, err
	}
	defer cancel()
	orders, err := s.queue.Renew(ctx, in.Runner, in.Lease, body.Tail)
	return &answer[worker.Orders]{Status: http.StatusOK, Body: orders}, err
}

func (s *Server) finish(_ context.Context, in *leaseBody) (*noInput, error) {
	var body worker.Result
	if err := decode(in.RawBody, &body); err != nil {
		return nil, err
	}
	return nil, s.queue.Finish(in.Runner, in.Lease, body)
}

// within is a call's context until the wait that it asks for is over.
func within(ctx context.Context, seconds float64) (context.Context, context.CancelFunc, error) {
	if !(seconds >= 0 && seconds <= longestWait.Seconds()) {
		return nil, nil, problem.New(
			http.StatusUnprocessableEntity,
			fmt.Sprintf("wait_seconds: %g is not from 0 to %g", seconds, longestWait.Seconds()),
		)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
	return ctx, cancel, nil
}
