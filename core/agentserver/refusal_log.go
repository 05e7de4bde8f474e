package agentserver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// refusalLog tells people which calls of agents were refused. Ten thousand
// agents call while the store is down, and unknown callers as often as they like:
// of each kind the first refusal is told at once and in full, and then one line a
// minute with their number. Of what was the manager's own fault the end is told
// too, after a minute without it.
type refusalLog struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	kinds map[refusalKind]*refusalCount
	swept time.Time
}

// refusalKind is what counts as the same. Instance is set where the caller has
// proven whose agent it is, so that there are no more kinds than instances.
type refusalKind struct {
	path, code, instance string
}

type refusalCount struct {
	told  time.Time
	since int // refusals since then
	last  []any
}

const (
	refusalEvery = time.Minute
	// mostRefusalKinds bounds the lines of a minute; beyond it instances aren't
	// told apart.
	mostRefusalKinds = 200
)

func newRefusalLog(log *slog.Logger, now func() time.Time) *refusalLog {
	return &refusalLog{log: log, now: now, kinds: map[refusalKind]*refusalCount{}, swept: now()}
}

func (l *refusalLog) note(path, address string, no *refusal) {
	kind := refusalKind{path: path, code: no.code, instance: no.instance()}
	about := append([]any{"path", path, "code", no.code, "reason", no.detail, "address", address}, no.about...)
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	if l.kinds[kind] == nil && len(l.kinds) >= mostRefusalKinds {
		kind.instance = ""
	}
	if seen := l.kinds[kind]; seen != nil {
		seen.since++
		seen.last = about
		return
	}
	l.kinds[kind] = &refusalCount{told: now}
	l.log.Log(context.Background(), kind.level(), "agent call refused", about...)
}

// pass lets time pass, so that counts are told without another refusal too.
func (l *refusalLog) pass() {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
}

// sweep tells the counts that are due. It looks once a second at most.
func (l *refusalLog) sweep(now time.Time) {
	if since := now.Sub(l.swept); since >= 0 && since < time.Second {
		return
	}
	l.swept = now
	for kind, seen := range l.kinds {
		if age := now.Sub(seen.told); age >= refusalEvery || age < 0 { // or the clock was set back
			l.tell(kind, seen, now)
		}
	}
}

func (l *refusalLog) tell(kind refusalKind, seen *refusalCount, now time.Time) {
	if seen.since == 0 {
		delete(l.kinds, kind)
		if kind.code == agentapi.CodeTryLater {
			l.log.Info("agent calls are answered again", "path", kind.path)
		}
		return
	}
	l.log.Log(context.Background(), kind.level(), "more agent calls refused; showing the last one",
		append([]any{"calls", seen.since, "within", now.Sub(seen.told).Round(time.Second).String()}, seen.last...)...)
	seen.told, seen.since, seen.last = now, 0, nil
}

// close tells the counts that aren't told yet.
func (l *refusalLog) close() {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for kind, seen := range l.kinds {
		if seen.since > 0 {
			l.tell(kind, seen, now)
		}
	}
}

// level is Error for what is the manager's own fault.
func (k refusalKind) level() slog.Level {
	if k.code == agentapi.CodeTryLater {
		return slog.LevelError
	}
	return slog.LevelWarn
}

// instance is the instance whose agent has proven to be the caller.
func (e *refusal) instance() string {
	for i := 0; i+1 < len(e.about); i += 2 {
		if e.about[i] == "instance" {
			if id, ok := e.about[i+1].(fleet.CapacityInstanceID); ok {
				return string(id)
			}
		}
	}
	return ""
}
