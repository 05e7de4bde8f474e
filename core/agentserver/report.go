package agentserver

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Bounds of what is kept of an agent's text, in bytes.
const (
	maxName     = 64
	maxSentence = 1024
)

// reportOf validates what an agent reports and keeps the probes that were asked for.
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
		Phase:             phase,
		GroupEmpty:        beat.GroupEmpty,
		Heard:             beat.Heard,
		Order:             beat.Order,
		JobsRun:           beat.JobsRun,
		LastExit:          clean(beat.LastExit, maxSentence),
		Isolation:         beat.Isolation,
		IsolationEvidence: clean(beat.IsolationEvidence, maxSentence),
		Load1:             beat.Load1,
		DiskFree:          beat.DiskFree,
		Unhealthy:         clean(beat.Unhealthy, maxSentence),
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

// orderName is the form of a directive's order; an agent that has got none sends "".
var orderName = regexp.MustCompile(`^[a-z0-9-]{0,64}$`)

// clean makes text from a host fit for a terminal: one line of at most `most` bytes,
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
