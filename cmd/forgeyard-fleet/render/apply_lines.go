package render

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// applyLinesFormat is the version of the lines of apply --json. New kinds of lines
// and new fields don't raise it; docs/operating.md has all of them.
const applyLinesFormat = 1

// ApplyLines is an apply for programs: one JSON object a line, each with its type
// and time. The first is the version, the last the summary.
type ApplyLines struct {
	page Page
	out  *json.Encoder
	err  error // of the first write that failed

	receipt plans.Receipt
	outcome progress.Outcome
	held    map[fleet.RunnerFleetID]reason.Reason
}

// NewApplyLines writes the first line, with the version of the program.
func NewApplyLines(page Page, version string) *ApplyLines {
	l := &ApplyLines{page: page, out: json.NewEncoder(page.Out), held: map[fleet.RunnerFleetID]reason.Reason{}}
	l.write(versionLine{l.head("version"), applyLinesFormat, version})
	return l
}

// lineHead begins every line.
type lineHead struct {
	Type string    `json:"type"`
	At   time.Time `json:"at"`
}

type versionLine struct {
	lineHead
	Format  int    `json:"format"`
	Version string `json:"version"`
}

type planLine struct {
	lineHead
	Plan plans.Plan `json:"plan"`
}

type diagnosticLine struct {
	lineHead
	Diagnostic config.Diagnostic `json:"diagnostic"`
}

type appliedLine struct {
	lineHead
	plans.Receipt
}

// instanceLine is one move of one instance; From is empty for a new one.
type instanceLine struct {
	lineHead
	Fleet    fleet.FleetAddress          `json:"fleet"`
	Instance fleet.CapacityInstanceID    `json:"instance"`
	From     fleet.CapacityInstanceState `json:"from,omitempty"`
	To       fleet.CapacityInstanceState `json:"to"`
	Reason   reason.Reason               `json:"reason"`
}

type heldLine struct {
	lineHead
	FleetID     fleet.RunnerFleetID `json:"fleet_id"`
	Reason      reason.Reason       `json:"reason"`
	NeedsPerson bool                `json:"needs_person"`
}

// summaryLine is the last one.
type summaryLine struct {
	lineHead
	// Outcome is settled, wait_over, stuck, interrupted or error.
	Outcome  string `json:"outcome"`
	ExitCode int    `json:"exit_code"`
	// Error is the sentence that is on standard error, too.
	Error string `json:"error,omitempty"`
	plans.Receipt
	States     map[fleet.CapacityInstanceState]int     `json:"states"`
	Unresolved int                                     `json:"unresolved"`
	Blocked    map[fleet.ProviderAddress]string        `json:"blocked,omitempty"`
	Unobserved map[fleet.ProviderAddress]reason.Reason `json:"unobserved,omitempty"`
	// WaitsFor says in a sentence each what an apply that isn't finished waits for.
	WaitsFor   []string                                   `json:"waits_for,omitempty"`
	Unrecorded map[fleet.ProviderAddress]fleet.Unrecorded `json:"unrecorded,omitempty"`
}

func (l *ApplyLines) head(kind string) lineHead { return lineHead{kind, l.page.Now().UTC()} }

func (l *ApplyLines) write(line any) {
	if err := l.out.Encode(line); l.err == nil {
		l.err = err
	}
}

func (l *ApplyLines) Planned(p plans.Plan) error {
	l.Diagnostics(p.Warnings)
	l.write(planLine{l.head("plan"), p})
	return l.err // nothing is applied that couldn't be told
}

func (l *ApplyLines) Diagnostics(found config.Diagnostics) {
	for _, one := range found {
		l.write(diagnosticLine{l.head("diagnostic"), one})
	}
}

func (l *ApplyLines) Applied(r plans.Receipt) {
	l.receipt = r
	l.write(appliedLine{l.head("applied"), r})
}

func (l *ApplyLines) Observe(p progress.Progress) {
	for _, t := range p.Transitions {
		l.write(instanceLine{lineHead{"instance", p.At.UTC()}, t.Fleet, t.Instance, t.From, t.To, t.Reason})
	}
	for id, hold := range p.Holds {
		if l.held[id] != hold.Reason {
			l.held[id] = hold.Reason
			l.write(heldLine{lineHead{"held", p.At.UTC()}, id, hold.Reason, hold.NeedsPerson})
		}
	}
}

func (l *ApplyLines) Watched() {}

func (l *ApplyLines) Ended(o progress.Outcome, _ bool) error {
	l.outcome = o
	return StatusOf(o.Ending)
}

// SumUp writes the last line of an apply that returned err and ends with the exit code.
func (l *ApplyLines) SumUp(code int, err error) error {
	last := l.outcome.Last
	line := summaryLine{
		Outcome: string(l.outcome.Ending), ExitCode: code, Receipt: l.receipt, States: last.States,
		Unresolved: last.Unresolved, Blocked: last.Blocked, Unobserved: last.Unobserved, Unrecorded: last.Unrecorded,
	}
	if line.States == nil {
		line.States = map[fleet.CapacityInstanceState]int{}
	}
	if l.outcome.Ending == progress.WaitOver || l.outcome.Ending == progress.Stuck {
		line.WaitsFor = WaitReasons(last)
	}
	switch line.ExitCode {
	case terminal.ExitInterrupted:
		line.Outcome = string(progress.Interrupted)
	case terminal.ExitError:
		line.Outcome, line.Error = "error", err.Error()
	}
	if found, ok := errors.AsType[config.Diagnostics](err); ok {
		l.Diagnostics(found)
		line.Error = "the fleet files have errors"
	}
	line.lineHead = l.head("summary")
	l.write(line)
	if err == nil {
		return l.err
	}
	return err
}
