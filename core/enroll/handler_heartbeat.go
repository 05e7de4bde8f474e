package enroll

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// Bounds of what is kept of an agent's words, in bytes.
const (
	maxName     = 64
	maxSentence = 1024
)

// heartbeat records the agent's state and answers what the manager wants of it
// now, derived from the stored state of its instance alone.
func (s *Server) heartbeat(r *http.Request, body []byte) (any, error) {
	_, subject, err := s.caller(r, 0)
	if err != nil {
		return nil, err
	}
	var beat agentapi.Heartbeat
	if err := decode(body, &beat); err != nil {
		return nil, err
	}
	report, err := reportOf(beat, subject.Fleet.Class.Capabilities)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	deadline := subject.Fleet.Timeouts.Heartbeat
	var silence time.Duration
	s.recorder.record(*subject.Runner, min(15*time.Second, deadline/4), func(f *fleet.Runner) {
		if !f.LastBeat.IsZero() {
			silence = now.Sub(f.LastBeat)
		}
		f.Beats++
		f.LastBeat, f.Skew, f.Address = now, beat.Clock.Sub(now), address(r)
		f.AgentVersion, f.Authority = clean(beat.AgentVersion, maxName), s.pinned(r)
		report.Notices = noticesOf(beat.Notices, f.Report.Notices, now)
		f.Report = report
	})
	if silence > deadline {
		s.Logger.Info("a silent runner is back", "runner", subject.Runner.ID, "silence", silence.Round(time.Second).String())
	}
	return agentapi.HeartbeatResponse{
		Directive:         s.directive(subject),
		NextMillis:        s.nextBeat(deadline, s.recorder.known()).Milliseconds(),
		ProbeCapabilities: subject.Fleet.Class.Capabilities,
		Trust:             s.newerTrust(r),
	}, nil
}

// directive is what the agent should do, and the name of this instruction. The
// command and its environment are told to admitted runners only. One that said
// it left gets no more work, whatever the loop has seen of that so far.
func (s *Server) directive(subject fleet.EnrollmentSubject) agentapi.Directive {
	policy := subject.Fleet.Runner
	d := agentapi.Directive{
		Want:          string(lifecycle.InstructionFor(subject.Instance)),
		Order:         lifecycle.OrderOf(subject.Instance),
		User:          policy.User,
		MaxJobs:       policy.MaxJobs,
		MaxAgeSeconds: int64((policy.MaxAge + time.Second - 1) / time.Second),
	}
	if i := subject.Instance.Interruption; i.TakesAway() {
		d.Interruption = &agentapi.Interruption{Detail: i.Detail}
		if !i.Deadline.IsZero() {
			left := i.Deadline.Sub(s.Now()).Seconds()
			d.Interruption.DeadlineSeconds = &left
		}
	}
	d.RequireIsolation = subject.Fleet.Admission.JobIsolation != fleet.JobIsolationNone
	if left := subject.Runner.Left; !left.IsZero() {
		// Not the instance's own order: that one may be to run.
		d.Want, d.Order = agentapi.WantStop, fmt.Sprintf("left-%d", left.UnixMicro())
	}
	switch {
	case d.Want != agentapi.WantRun:
	case subject.Fleet.Scheduler != "" || subject.Instance.Scheduling.Told():
		s.connect(subject, &d)
	default:
		d.Command, d.Env, d.Cleanup = policy.Command, policy.Env, policy.Cleanup
	}
	return d
}

// connect makes a directive to run the scheduler's worker. Until the scheduler
// has taken the runner there is nothing to run. The limits of its life are the
// scheduler's and the planner's to keep: a worker runs for as long as it is
// wanted, and once where it takes a limited number of jobs.
func (s *Server) connect(subject fleet.EnrollmentSubject, d *agentapi.Directive) {
	connection, taken := s.Connection(subject.Instance.ID)
	policy, at := subject.Fleet.Runner, subject.Instance.Scheduling
	most := min(policy.MaxJobs, 1)
	if at.Leaves {
		most = 1
	}
	if !taken && at.Scheduler.AdmitsOnce() && at.Ref != "" {
		// Only an earlier process had the credential. A worker that runs goes on, and
		// without a command none begins.
		d.Worker, d.MaxJobs, d.MaxAgeSeconds = true, most, 0
		return
	}
	if !taken {
		d.Want, d.Order = agentapi.WantWait, "unconnected-"+d.Order
		return
	}
	d.HearsItself = connection.HearsItself
	d.Worker, d.Command, d.Env, d.Cleanup = true, policy.Command, maps.Clone(policy.Env), policy.Cleanup
	if len(d.Command) == 0 {
		d.Command = connection.Command
	}
	if d.Env == nil {
		d.Env = map[string]string{}
	}
	maps.Copy(d.Env, connection.Environment)
	d.MaxJobs, d.MaxAgeSeconds = most, 0
}

// Heartbeat spacing. An agent hears what is wanted of it in the answer to a
// beat, so few agents beat often, and drains are quick; many share beatsPerSecond
// until each is down to slowestBeat.
const (
	quickestBeat   = time.Second
	slowestBeat    = 10 * time.Second
	beatsPerSecond = 100
)

// nextBeat spaces the beats of so many runners, and lets three of them be lost
// before a runner counts as silent.
func (s *Server) nextBeat(deadline time.Duration, runners int) time.Duration {
	share := time.Duration(runners) * time.Second / beatsPerSecond
	next := min(max(share, quickestBeat), slowestBeat, deadline/4)
	next -= time.Duration(0.2 * s.Jitter() * float64(next))
	return max(next, 250*time.Millisecond)
}

// reportOf checks an agent's words and keeps those that were asked for.
func reportOf(beat agentapi.Heartbeat, capabilities []string) (fleet.AgentReport, error) {
	phase := fleet.AgentPhase(beat.Phase)
	switch phase {
	case fleet.PhaseIdle, fleet.PhaseRunning, fleet.PhaseStopped:
	default:
		return fleet.AgentReport{}, badRequest("phase must be idle, running or stopped")
	}
	switch beat.Isolation {
	case agentapi.IsolationPending, agentapi.IsolationUser, agentapi.IsolationNone:
	default:
		return fleet.AgentReport{}, badRequest("isolation must be pending, user or none")
	}
	switch beat.Heard {
	case "", agentapi.WantWait, agentapi.WantRun, agentapi.WantStop:
	default:
		return fleet.AgentReport{}, badRequest("heard must be wait, run or stop")
	}
	if !orderName.MatchString(beat.Order) {
		return fleet.AgentReport{}, badRequest("order must be the order of a directive")
	}
	if beat.JobsRun < 0 || beat.DiskFree < 0 || beat.Load1 < 0 {
		return fleet.AgentReport{}, badRequest("jobs_run, load1 and disk_free_bytes can't be negative")
	}
	report := fleet.AgentReport{
		Phase: phase, GroupEmpty: beat.GroupEmpty, Heard: beat.Heard, Order: beat.Order, JobsRun: beat.JobsRun, LastExit: clean(beat.LastExit, maxSentence),
		Isolation: beat.Isolation, IsolationEvidence: clean(beat.IsolationEvidence, maxSentence), Load1: beat.Load1, DiskFree: beat.DiskFree, Unhealthy: clean(beat.Unhealthy, maxSentence),
	}
	for _, name := range capabilities {
		if probe, shown := beat.Probes[name]; shown {
			if report.Probes == nil {
				report.Probes = map[string]fleet.Probe{}
			}
			report.Probes[name] = fleet.Probe{OK: probe.OK, Evidence: clean(probe.Evidence, maxSentence)}
		}
	}
	return report, nil
}

// orderName is what the names of orders look like; an agent that has heard none
// sends none.
var orderName = regexp.MustCompile(`^[a-z0-9-]{0,64}$`)

// clean makes a host's words fit for a person's terminal: one line, bounded,
// without control characters.
func clean(s string, most int) string {
	s = strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' {
			return ' '
		}
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, ""))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return strings.TrimSpace(s)
}
