//go:build unix

package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/process"
)

// ending is how one generation of a supervised process came to its end.
type ending struct {
	kind        endingKind
	err         error
	ready       time.Duration // how long it could be called
	diagnostics []fleet.PluginDiagnostic
}

type endingKind int

const (
	// endedByDeath: the process died, or couldn't be started.
	endedByDeath endingKind = iota
	// endedByProvider: the plugin lives and what is behind it can't be reached.
	// The plugin isn't at fault, so this doesn't make it broken.
	endedByProvider
	// endedForPerson: starting it again changes nothing.
	endedForPerson
)

// serve takes one process from its start to its end, and leaves none behind.
// ended is called at the end, unless ctx ordered it, before the process's remains are
// cleaned up: no caller may get a dead process meanwhile.
func (s *Supervisor) serve(ctx context.Context, generation int, ended func(ending)) {
	process, err := s.start(ctx)
	if err != nil {
		if ctx.Err() == nil {
			ended(startFailed(err))
		}
		return
	}
	defer func() {
		if err := process.Stop(s.supervision.StopGrace); err != nil {
			s.logger.Error("a plugin process is left behind", "generation", generation, "error", err)
		}
	}()

	account, diagnostics, end := s.configure(ctx, process)
	if end != nil {
		if ctx.Err() == nil {
			ended(*end)
		}
		return
	}
	ready := SupervisorStatus{State: SupervisorReady, Generation: generation, Account: account, Diagnostics: diagnostics}
	ready.Process, _ = process.(*Process)
	since := time.Now()
	s.set(ready)
	if s.supervision.Noticed != nil {
		watching, stop := context.WithCancel(ctx)
		watched := make(chan struct{})
		go func() { defer close(watched); s.watch(watching, process) }()
		defer func() { stop(); <-watched }()
	}
	select {
	case <-ctx.Done():
	case <-process.Exited():
		ended(ending{kind: endedByDeath, err: process.ExitCause(), ready: time.Since(since)})
	case reason := <-s.restart:
		ended(
			ending{kind: endedByDeath, err: fmt.Errorf("it was ended by the manager: %s", reason), ready: time.Since(since)},
		)
	}
}

// startFailed is the ending of a process that didn't come to run.
func startFailed(err error) ending {
	var refused *process.ExecutableError
	if errors.As(err, &refused) {
		return ending{kind: endedForPerson, err: err}
	}
	return ending{kind: endedByDeath, err: err}
}

// configure binds the process to its provider block; a nil ending says that it
// is ready.
func (s *Supervisor) configure(ctx context.Context, process supervised) (string, []fleet.PluginDiagnostic, *ending) {
	limited, cancel := context.WithTimeout(ctx, s.supervision.ConfigureTimeout)
	defer cancel()
	configuration := s.supervision.Configuration
	if resolve := s.supervision.Resolve; resolve != nil {
		resolved, err := resolve(limited, configuration.Provider.Body)
		if err != nil {
			return "", nil, &ending{kind: endedForPerson, err: err}
		}
		configuration.Provider = resolved
	}
	account, diagnostics, err := process.Configure(limited, configuration)
	if err == nil {
		if complaints := complaintsOf(diagnostics); complaints != "" {
			return "", nil, &ending{kind: endedForPerson, diagnostics: diagnostics,
				err: fmt.Errorf("the plugin refuses the provider block: %s; correct it and apply again", complaints)}
		}
		return account, diagnostics, nil
	}
	end := &ending{kind: endedByProvider, err: err}
	var call *CallError
	select {
	case <-process.Exited():
		end.kind = endedByDeath
	default:
		if errors.As(err, &call) {
			switch call.Class {
			case fleet.ErrorAuth, fleet.ErrorPermission, fleet.ErrorInvalid, fleet.ErrorConflict:
				end.kind = endedForPerson
			case fleet.ErrorInternal:
				end.kind = endedByDeath
			}
		}
	}
	return "", nil, end
}

// complaintsOf joins what is more than a warning, each with the attribute that it is
// about and its detail.
func complaintsOf(diagnostics []fleet.PluginDiagnostic) string {
	var complaints []string
	for _, d := range diagnostics {
		if d.Warning {
			continue
		}
		complaint := d.Summary
		if len(d.Path) > 0 {
			complaint = fleet.PathText(d.Path) + ": " + complaint
		}
		if d.Detail != "" {
			complaint += " (" + shownText(strings.TrimSuffix(d.Detail, "."), maxErrorMessage) + ")"
		}
		complaints = append(complaints, complaint)
	}
	return strings.Join(complaints, "; ")
}

const (
	// DeathLimit is how many deaths within DeathWindow make a provider broken.
	DeathLimit = 5
	// DeathWindow is also how long a process must have been ready for its
	// predecessors' deaths to be forgotten.
	DeathWindow = 10 * time.Minute
)

// restartDelays grow with each failure in a row.
var restartDelays = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 15 * time.Second, time.Minute}

// deathHistory remembers enough of the past to space the starts.
type deathHistory struct {
	deaths   []time.Time
	failures int // starts in a row that came to nothing
}

func (h *deathHistory) died(now time.Time) { h.deaths = append(h.deaths, now) }

// recent counts the deaths within the window and forgets the older ones.
func (h *deathHistory) recent(now time.Time) int {
	h.deaths = slices.DeleteFunc(h.deaths, func(at time.Time) bool { return now.Sub(at) >= DeathWindow })
	return len(h.deaths)
}

// delay is the wait before the next start, 0.8 to 1.2 times the nominal one, so
// that the plugins of a host that lost its network don't come back as one.
func (h *deathHistory) delay(jitter float64) time.Duration {
	nominal := restartDelays[min(h.failures, len(restartDelays)-1)]
	h.failures++
	return time.Duration(float64(nominal) * (0.8 + 0.4*jitter))
}
