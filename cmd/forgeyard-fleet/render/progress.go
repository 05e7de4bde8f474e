package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// ProgressLines shows each move of each instance as a line; on a terminal a last
// line that changes in place sums up where everything is. Elsewhere a line says
// what is waited for where nothing else has been said for a while: a reader of
// the log of a pipeline must see that it isn't hung.
type ProgressLines struct {
	page  Page
	began time.Time
	stop  chan struct{}
	ended chan struct{}

	mu     sync.Mutex
	said   time.Time
	held   map[fleet.RunnerFleetID]reason.Reason
	unseen map[fleet.SchedulerAddress]reason.Reason
	faults map[fleet.ProviderAddress]reason.Reason
	silent map[fleet.CapacityInstanceID]fleet.FleetAddress
	stages map[fleet.FleetAddress]planner.RolloutStage
	last   progress.Progress
	status bool
}

// quietFor is how long a pipe sees no line at most.
const quietFor = 30 * time.Second

// NewProgressLines begins to show the progress of an apply. End ends it.
func (page Page) NewProgressLines() *ProgressLines {
	p := &ProgressLines{
		page:   page,
		began:  page.Now(),
		said:   page.Now(),
		held:   map[fleet.RunnerFleetID]reason.Reason{},
		unseen: map[fleet.SchedulerAddress]reason.Reason{},
		faults: map[fleet.ProviderAddress]reason.Reason{},
		silent: map[fleet.CapacityInstanceID]fleet.FleetAddress{},
		stages: map[fleet.FleetAddress]planner.RolloutStage{},
		stop:   make(chan struct{}),
		ended:  make(chan struct{}),
	}
	if page.Terminal {
		close(p.ended)
		return p
	}
	go p.remind()
	return p
}

// remind breaks the silence until the progress ends.
func (p *ProgressLines) remind() {
	defer close(p.ended)
	timer := time.NewTimer(quietFor)
	defer timer.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-timer.C:
		}
		p.mu.Lock()
		if p.page.Now().Sub(p.said) >= quietFor {
			p.line("waiting: %s", waitsFor(p.last))
		}
		next := quietFor - p.page.Now().Sub(p.said)
		p.mu.Unlock()
		timer.Reset(next)
	}
}

// Observe is called after every step.
func (p *ProgressLines) Observe(res progress.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	for _, t := range res.Transitions {
		p.line("%s %s: %s", t.Fleet.Name(), t.Instance, step(t))
	}
	p.observeRollouts(res)
	p.observeHolds(res)
	p.observeFaults(res)
	p.observeSchedulers(res)
	p.observeSilence(res)
	p.last = res
	if p.page.Terminal {
		p.page.Printf("%s", sum(res))
		p.status = true
	}
}

// observeRollouts says how far rollouts are, each time one comes to another stage.
func (p *ProgressLines) observeRollouts(res progress.Progress) {
	for _, address := range slices.Sorted(maps.Keys(res.Rollouts)) {
		if r := res.Rollouts[address]; p.stages[address] != r.Stage {
			p.stages[address] = r.Stage
			p.line("%s: %s", address.Name(), r.Reason)
		}
	}
	maps.DeleteFunc(
		p.stages,
		func(a fleet.FleetAddress, _ planner.RolloutStage) bool { _, still := res.Rollouts[a]; return !still },
	)
}

// observeHolds says which fleets start nothing now, each time the reason changes.
func (p *ProgressLines) observeHolds(res progress.Progress) {
	for _, held := range heldBack(res) {
		changed := false
		for id, hold := range res.Holds {
			if hold.Reason == held.hold.Reason && p.held[id] != hold.Reason {
				p.held[id], changed = hold.Reason, true
			}
		}
		if changed {
			p.line("%s held back: %s", strings.Join(held.names, ", "), holdText(held.hold, res.At))
		}
	}
	maps.DeleteFunc(
		p.held,
		func(id fleet.RunnerFleetID, _ reason.Reason) bool { _, still := res.Holds[id]; return !still },
	)
}

// observeFaults says what went wrong with providers, each time that changes, and
// which work again. What holds a fleet back was said as its reason.
func (p *ProgressLines) observeFaults(res progress.Progress) {
	follow(p.faults, res.Faults, func(address fleet.ProviderAddress, why reason.Reason) {
		if !isReason(res, why) {
			p.line("provider.%s failed: %s", address, why)
		}
	}, func(address fleet.ProviderAddress) { p.line("provider.%s recovered", address) })
}

// observeSchedulers says which schedulers can't be seen, each time the reason
// changes, and which can be again.
func (p *ProgressLines) observeSchedulers(res progress.Progress) {
	follow(p.unseen, res.Schedulers, func(address fleet.SchedulerAddress, why reason.Reason) {
		p.line("scheduler.%s is unobservable: %s", address, why)
	}, func(address fleet.SchedulerAddress) { p.line("scheduler.%s recovered", address) })
}

// follow tells of each reason that is new or another one than the known, then of each key
// that has none any more, in the order of keys, and makes known what now is.
func follow[K cmp.Ordered](known, now map[K]reason.Reason, changed func(K, reason.Reason), ended func(K)) {
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if why := now[key]; known[key] != why {
			known[key] = why
			changed(key, why)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if _, still := now[key]; !still {
			ended(key)
			delete(known, key)
		}
	}
}

// observeSilence says which agents stopped beating, and which came back.
func (p *ProgressLines) observeSilence(res progress.Progress) {
	for _, id := range slices.Sorted(maps.Keys(res.Silent)) {
		if _, known := p.silent[id]; !known {
			p.silent[id] = res.Silent[id]
			p.line("%s %s: heartbeats stopped", res.Silent[id].Name(), id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.silent)) {
		if _, still := res.Silent[id]; still {
			continue
		}
		gone := slices.ContainsFunc(
			res.Transitions,
			func(t loop.Transition) bool { return t.Instance == id && t.To == fleet.Terminated },
		)
		if !gone {
			p.line("%s %s: heartbeats resumed", p.silent[id].Name(), id)
		}
		delete(p.silent, id)
	}
}

// line is one line with the time since the begin. The lock is held.
func (p *ProgressLines) line(format string, args ...any) {
	p.said = p.page.Now()
	p.page.Printf("%6s  %s\n", p.page.Now().Sub(p.began).Round(100*time.Millisecond), fmt.Sprintf(format, args...))
}

// clear takes the line that changes in place away.
func (p *ProgressLines) clear() {
	if p.status {
		fmt.Fprint(p.page.Out, "\r\033[K")
		p.status = false
	}
}

// End is called once, after the last observe.
func (p *ProgressLines) End() {
	close(p.stop)
	<-p.ended
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// step is one move in words.
func step(t loop.Transition) string {
	if t.From == "" {
		return fmt.Sprintf("%s: %s", t.To, t.Reason)
	}
	return fmt.Sprintf("%s → %s: %s", t.From, t.To, t.Reason)
}
