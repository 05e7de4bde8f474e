package queue

import (
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

func (s *Server) demand(w http.ResponseWriter, r *http.Request) (int, any, error) {
	demand := s.queue.Demand()
	if notModified(w, r, demand.Revision) {
		return http.StatusNotModified, nil, nil
	}
	return http.StatusOK, demand, nil
}

func (s *Server) runners(w http.ResponseWriter, r *http.Request) (int, any, error) {
	runners := s.queue.Runners()
	if notModified(w, r, runners.Revision) {
		return http.StatusNotModified, nil, nil
	}
	return http.StatusOK, runners, nil
}

func (s *Server) admit(w http.ResponseWriter, r *http.Request) (int, any, error) {
	var body forgeyard.Admit
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	id := r.PathValue("runner")
	revision, err := s.queue.Admit(id, body)
	if err != nil {
		return 0, nil, err
	}
	w.Header().Set("Cache-Control", "no-store")
	return http.StatusOK, forgeyard.Admitted{
		Revision: revision, Command: workerCommand,
		Environment: map[string]string{
			worker.URLVariable: s.url, worker.RunnerVariable: id, worker.TokenVariable: s.credential(id),
			worker.SlotsVariable: strconv.FormatInt(max(1, body.Slots), 10), worker.MaxJobsVariable: strconv.Itoa(body.MaxJobs),
		},
	}, nil
}

func (s *Server) cordon(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	var body forgeyard.Cordon
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	if body.DeadlineSeconds < 0 || body.DeadlineSeconds > mostLeft.Seconds() {
		return 0, nil, refuse(Invalid, "deadline_seconds: it is from 0 to %g", mostLeft.Seconds())
	}
	left := time.Duration(body.DeadlineSeconds * float64(time.Second))
	return acknowledged(s.queue.Cordon(r.PathValue("runner"), printable(body.Cause), body.Force, left))
}

func (s *Server) uncordon(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	return acknowledged(s.queue.Uncordon(r.PathValue("runner")))
}

func acknowledged(revision int64, err error) (int, any, error) {
	return http.StatusOK, forgeyard.Acknowledgement{Revision: revision}, err
}

func (s *Server) remove(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	err := s.queue.Remove(r.PathValue("runner"), scheduler.RemovalReason(r.URL.Query().Get("reason")))
	return http.StatusNoContent, nil, err
}
