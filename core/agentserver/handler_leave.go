package agentserver

import (
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// leave records that the agent ended by itself and has no job. It is stored
// before the answer: it isn't reported again.
func (s *Server) leave(r *http.Request, body []byte) (any, error) {
	caller, err := s.authorize(r, refuseExpired)
	if err != nil {
		return nil, err
	}
	var call agentapi.LeaveRequest
	if err := decode(body, &call); err != nil {
		return nil, err
	}
	reason := clean(call.Reason, maxName)
	if reason == "" {
		return nil, badRequest("leave needs a reason").with("runner", caller.Runner)
	}
	now := s.Now()
	s.recorder.record(*caller.subject.Runner, 0, func(f *fleet.Runner) {
		if f.Left.IsZero() {
			f.Left, f.LeftReason = now, reason
		}
	})
	if err := s.recorder.flush(r.Context()); err != nil {
		return nil, storeFailed("record that a runner left", err)
	}
	s.Logger.Info("a runner left", "runner", caller.Runner, "instance", caller.subject.Instance.ID, "reason", reason)
	return struct{}{}, nil
}
