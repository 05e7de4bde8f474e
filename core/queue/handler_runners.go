package queue

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// workerCommand is what an admitted runner runs: the agent's own binary has the
// worker in it.
var workerCommand = []string{"forgeyard-runner", "queue-worker"}

// mostLeft bounds when an announced end may be.
const mostLeft = 30 * 24 * time.Hour

func (s *Server) demand(_ context.Context, in *listInput) (*listAnswer[forgeyard.Demand], error) {
	demand := s.queue.Demand()
	return asOf(in, demand.Revision, demand), nil
}

func (s *Server) runners(_ context.Context, in *listInput) (*listAnswer[forgeyard.Runners], error) {
	runners := s.queue.Runners()
	return asOf(in, runners.Revision, runners), nil
}

func (s *Server) admit(_ context.Context, in *runnerBody) (*answer[forgeyard.Admitted], error) {
	var body forgeyard.Admit
	if err := decode(in.RawBody, &body); err != nil {
		return nil, err
	}
	revision, err := s.queue.Admit(in.Runner, body)
	return &answer[forgeyard.Admitted]{Status: http.StatusOK, CacheControl: "no-store", Body: forgeyard.Admitted{
		Revision: revision, Command: workerCommand,
		Environment: map[string]string{
			worker.URLVariable: s.url, worker.RunnerVariable: in.Runner, worker.TokenVariable: s.credential(in.Runner),
			worker.SlotsVariable: strconv.FormatInt(max(1, body.Slots), 10), worker.MaxJobsVariable: strconv.Itoa(body.MaxJobs),
		},
	}}, err
}

func (s *Server) cordon(_ context.Context, in *runnerBody) (*answer[forgeyard.Acknowledgement], error) {
	var body forgeyard.Cordon
	if err := decode(in.RawBody, &body); err != nil {
		return nil, err
	}
	if body.DeadlineSeconds < 0 || body.DeadlineSeconds > mostLeft.Seconds() {
		return nil, refuse(Invalid, "deadline_seconds: must be 0 ≤ deadline_seconds ≤ %g", mostLeft.Seconds())
	}
	left := time.Duration(body.DeadlineSeconds * float64(time.Second))
	return acknowledged(s.queue.Cordon(in.Runner, printable(body.Cause), body.Force, left))
}

func (s *Server) uncordon(_ context.Context, in *runnerInput) (*answer[forgeyard.Acknowledgement], error) {
	return acknowledged(s.queue.Uncordon(in.Runner))
}

func acknowledged(revision int64, err error) (*answer[forgeyard.Acknowledgement], error) {
	return &answer[forgeyard.Acknowledgement]{
		Status: http.StatusOK,
		Body:   forgeyard.Acknowledgement{Revision: revision},
	}, err
}

func (s *Server) remove(_ context.Context, in *removeInput) (*noInput, error) {
	return nil, s.queue.Remove(in.Runner, scheduler.RemovalReason(in.Reason))
}
