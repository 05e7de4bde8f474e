package agentserver

import (
	"net/http"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// heartbeat records the agent's state and answers what the manager wants of it
// now, derived only from the stored state of its instance.
func (s *Server) heartbeat(r *http.Request, body []byte) (any, error) {
	caller, err := s.authorize(r, refuseExpired)
	if err != nil {
		return nil, err
	}
	var beat agentapi.Heartbeat
	if err := decode(body, &beat); err != nil {
		return nil, err
	}
	report, err := reportOf(beat, caller.subject.Fleet.Class.Capabilities)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	deadline := caller.subject.Fleet.Timeouts.Heartbeat
	var silence time.Duration
	s.recorder.record(*caller.subject.Runner, min(15*time.Second, deadline/4), func(f *fleet.Runner) {
		if !f.LastBeat.IsZero() {
			silence = now.Sub(f.LastBeat)
		}
		f.Beats++
		f.LastBeat, f.Skew, f.Address = now, beat.Clock.Sub(now), address(r)
		f.AgentVersion, f.Authority = clean(beat.AgentVersion, maxName), pinnedAuthority(s.Authorities, r)
		report.Notices = noticesOf(beat.Notices, f.Report.Notices, now)
		f.Report = report
	})
	if silence > deadline {
		s.Logger.Info(
			"a silent runner sends heartbeats again",
			"runner",
			caller.subject.Runner.ID,
			"silence",
			silence.Round(time.Second).String(),
		)
	}
	return agentapi.HeartbeatResponse{
		Directive:         directiveFor(caller.subject, s.Connection, now),
		NextMillis:        heartbeatInterval(deadline, s.recorder.known(), s.Jitter()).Milliseconds(),
		ProbeCapabilities: caller.subject.Fleet.Class.Capabilities,
		Trust:             newerTrust(s.Authorities, r),
	}, nil
}

// Heartbeat spacing. An agent gets its instruction in the answer to a heartbeat, so
// few agents send often, and drains are quick; many share heartbeatsPerSecond until
// each is down to slowestHeartbeat.
const (
	quickestHeartbeat   = time.Second
	slowestHeartbeat    = 10 * time.Second
	heartbeatsPerSecond = 100
)

// heartbeatInterval spaces the heartbeats of so many runners, and lets three of them be
// lost before a runner counts as silent. jitter is in [0,1).
func heartbeatInterval(deadline time.Duration, runners int, jitter float64) time.Duration {
	share := time.Duration(runners) * time.Second / heartbeatsPerSecond
	next := min(max(share, quickestHeartbeat), slowestHeartbeat, deadline/4)
	next -= time.Duration(0.2 * jitter * float64(next))
	return max(next, 250*time.Millisecond)
}
