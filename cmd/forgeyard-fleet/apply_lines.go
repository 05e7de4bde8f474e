package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// applyLinesFormat is the version of the lines of apply --json. New kinds of lines
// and new fields don't raise it; docs/operating.md has all of them.
const applyLinesFormat = 1

// applyLines is an apply for programs: one JSON object a line, each with its type
// and time. The first is the version, the last the summary.
type applyLines struct {
	app *app
	out *json.Encoder
	err error // of the first write that failed

	receipt plans.Receipt
	outcome progress.Outcome
	held    map[fleet.RunnerFleetID]reason.Reason
}

func newApplyLines(a *app) *applyLines {
	l := &applyLines{app: a, out: json.NewEncoder(a.out), held: map[fleet.RunnerFleetID]reason.Reason{}}
	l.write(versionLine{l.head("version"), applyLinesFormat, a.version})
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

func (l *applyLines) head(kind string) lineHead { return lineHead{kind, l.app.now().UTC()} }

func (l *applyLines) write(line any) {
	if err := l.out.Encode(line); l.err == nil {
		l.err = err
	}
}

func (l *applyLines) planned(p plans.Plan) error {
	l.diagnostics(p.Warnings)
	l.write(planLine{l.head("plan"), p})
	return l.err // nothing is applied that couldn't be told
}

func (l *applyLines) diagnostics(found config.Diagnostics) {
	for _, one := range found {
		l.write(diagnosticLine{l.head("diagnostic"), one})
	}
}

func (l *applyLines) applied(r plans.Receipt) {
	l.receipt = r
	l.write(appliedLine{l.head("applied"), r})
}

func (l *applyLines) observe(p progress.Progress) {
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

func (l *applyLines) watched() {}

func (l *applyLines) ended(o progress.Outcome, _ bool) error {
	l.outcome = o
	return statusOf(o.Ending)
}

// sumUp writes the last line of an apply that returned err.
func (l *applyLines) sumUp(ctx context.Context, err error) error {
	last := l.outcome.Last
	line := summaryLine{
		Outcome: string(l.outcome.Ending), ExitCode: exitCode(ctx, err), Receipt: l.receipt, States: last.States,
		Unresolved: last.Unresolved, Blocked: last.Blocked, Unobserved: last.Unobserved, Unrecorded: last.Unrecorded,
	}
	if line.States == nil {
		line.States = map[fleet.CapacityInstanceState]int{}
	}
	if l.outcome.Ending == progress.WaitOver || l.outcome.Ending == progress.Stuck {
		line.WaitsFor = render.WaitReasons(last)
	}
	switch line.ExitCode {
	case exitInterrupted:
		line.Outcome = string(progress.Interrupted)
	case exitError:
		line.Outcome, line.Error = "error", err.Error()
	}
	if found, ok := errors.AsType[config.Diagnostics](err); ok {
		l.diagnostics(found)
		line.Error = "the fleet files have errors"
	}
	line.lineHead = l.head("summary")
	l.write(line)
	if err == nil {
		return l.err
	}
	return err
}
