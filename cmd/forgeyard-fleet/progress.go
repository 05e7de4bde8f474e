package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reconcile"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// progress shows each move of each instance as a line; on a terminal a last
// line that changes in place sums up where everything is.
type progress struct {
	app    *app
	began  time.Time
	held   map[fleet.RunnerFleetID]string
	status bool
}

func (a *app) newProgress() *progress {
	return &progress{app: a, began: a.now(), held: map[fleet.RunnerFleetID]string{}}
}

// observe is called after every step.
func (p *progress) observe(res control.Progress) {
	p.clear()
	for _, t := range res.Transitions {
		p.line("%s %s: %s", t.Fleet.Name(), t.Instance, step(t))
	}
	for id, hold := range res.Holds {
		if p.held[id] != hold.Reason {
			p.held[id] = hold.Reason
			p.line("held back: %s", hold.Reason)
		}
	}
	if p.app.outTerminal {
		p.app.printf("%s", sum(res))
		p.status = true
	}
}

func (p *progress) line(format string, args ...any) {
	p.app.printf("%6s  %s\n", p.app.now().Sub(p.began).Round(100*time.Millisecond), fmt.Sprintf(format, args...))
}

// clear takes the line that changes in place away.
func (p *progress) clear() {
	if p.status {
		p.app.printf("\r\033[K")
		p.status = false
	}
}

func (p *progress) end() { p.clear() }

// step is one move in words.
func step(t reconcile.Transition) string {
	if t.From == "" {
		return fmt.Sprintf("%s. %s", t.To, t.Reason)
	}
	return fmt.Sprintf("%s → %s. %s", t.From, t.To, t.Reason)
}

// sum counts the instances by state.
func sum(res control.Progress) string {
	var parts []string
	for _, s := range fleet.CapacityInstanceStates() {
		if n := res.States[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return "no instances"
	}
	return strings.Join(parts, ", ")
}

// renderOutcome says how an apply ended and what is left.
func (a *app) renderOutcome(o control.Outcome, wait time.Duration, daemon bool) error {
	a.printf("\n")
	for provider, u := range o.Last.Unrecorded {
		a.printf("! %s has %s; see forgeyard-fleet instance list --unrecorded.\n", provider, view.UnrecordedWords(u))
	}
	switch o.Ending {
	case control.Settled:
		a.printf("Applied. %s.\n", capital(sum(o.Last)))
		if len(o.Last.States) > 0 && !daemon {
			a.printf("They run on by themselves, but nothing scales, renews or removes them until the next apply.\n")
		}
		return nil
	case control.Interrupted:
		a.printf("Interrupted: %s. What was asked for is stored; the next apply goes on from here.\n", sum(o.Last))
		return exitStatus(exitInterrupted)
	case control.Stuck:
		a.printf("Stopped: %s, and what is missing needs a person:\n", sum(o.Last))
		for provider, reason := range o.Last.Blocked {
			a.printf("  provider.%s: %s\n", provider, reason)
		}
		for _, hold := range o.Last.Holds {
			a.printf("  %s\n", hold.Reason)
		}
		return exitStatus(exitUnresolved)
	}
	for provider, reason := range o.Last.Unobserved {
		a.printf("! provider.%s can't be seen: %s.\n", provider, reason)
	}
	a.printf("Not finished after %s: %s, %s. The next apply goes on from here.\n", wait, sum(o.Last), plural(o.Last.Unresolved, "unknown outcome"))
	return exitStatus(exitUnresolved)
}

// capital begins a text with a capital letter.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
