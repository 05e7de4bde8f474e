package queue_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// held is a lease as its worker knows it.
type held struct{ runner, id, job string }

// machine drives a queue with random events and holds it against a model that
// knows nothing of how it works.
type machine struct {
	*world
	has      map[string]forgeyard.Admit
	cordoned map[string]bool
	live     map[held]bool // that the queue granted and no one ended
	revision int64
	next     int
}

var names = []string{"r1", "r2", "r3"}

func (m *machine) fresh() string {
	m.next++
	return fmt.Sprintf("l%d", m.next)
}

// dropped forgets what a runner's leases were.
func (m *machine) dropped(runner string) {
	for h := range m.live {
		if h.runner == runner {
			delete(m.live, h)
		}
	}
}

func (m *machine) admitAny(t *rapid.T) {
	id := rapid.SampledFrom(names).Draw(t, "runner")
	has := forgeyard.Admit{
		OS:        rapid.SampledFrom([]string{"linux", "windows"}).Draw(t, "os"),
		Slots:     rapid.Int64Range(0, 3).Draw(t, "slots"),
		Resources: forgeyard.Resources{CPUMilli: 3000},
	}
	if old, known := m.has[id]; known {
		has.Slots, has.OS = old.Slots, old.OS // a repeated admission
	}
	if _, err := m.Admit(id, has); err != nil {
		t.Fatal(err)
	}
	m.has[id] = has
}

func (m *machine) submitAny(t *rapid.T) {
	s := queue.Submission{Command: []string{"true"}, Priority: rapid.IntRange(0, 1).Draw(t, "priority"),
		Resources: forgeyard.Resources{CPUMilli: rapid.SampledFrom([]int64{0, 1000, 2000, 9000}).Draw(t, "cpu")}}
	s.Requirement.OS = rapid.SampledFrom([]string{"", "linux"}).Draw(t, "os")
	s.Requirement.Tenant = rapid.SampledFrom([]string{"", "acme"}).Draw(t, "tenant")
	if _, err := m.Submit(s); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) leaseAny(t *rapid.T) {
	h := held{runner: rapid.SampledFrom(names).Draw(t, "runner"), id: m.fresh()}
	l, granted, err := m.Lease(over(), h.runner, "s", h.id)
	_, admitted := m.has[h.runner]
	if admitted != (err == nil) {
		t.Fatalf("admitted: %v, and a lease answers %v", admitted, err)
	}
	if !granted {
		return
	}
	if m.cordoned[h.runner] {
		t.Fatalf("%s is cordoned and got %s", h.runner, l.Job)
	}
	h.job = l.Job
	for other := range m.live {
		if other.job == h.job {
			t.Fatalf("%s is leased to %s and to %s", h.job, other.runner, h.runner)
		}
	}
	m.live[h] = true
}

func (m *machine) endAny(t *rapid.T) {
	for h := range m.live {
		var err error
		if rapid.Bool().Draw(t, "gives it back") {
			err = m.Return(h.runner, h.id)
		} else {
			err = m.Finish(
				h.runner,
				h.id,
				worker.Result{ExitStatus: rapid.IntRange(0, 1).Draw(t, "status"), Interrupted: rapid.Bool().Draw(t, "interrupted")},
			)
		}
		if err != nil {
			t.Fatal(err)
		}
		delete(m.live, h)
		return
	}
}

func (m *machine) cordonAny(t *rapid.T) {
	id, force := rapid.SampledFrom(names).Draw(t, "runner"), rapid.Bool().Draw(t, "force")
	ack, err := m.Cordon(id, "x", force, 0)
	if err != nil {
		return
	}
	m.cordoned[id] = true
	if force {
		m.dropped(id)
	}
	if listing := m.Runners(); listing.Revision < ack {
		t.Fatalf("a listing of %d comes after the acknowledgement of %d", listing.Revision, ack)
	}
}

func (m *machine) uncordonAny(t *rapid.T) {
	id := rapid.SampledFrom(names).Draw(t, "runner")
	if _, err := m.Uncordon(id); err == nil {
		m.cordoned[id] = false
	}
}

func (m *machine) removeAny(t *rapid.T) {
	id := rapid.SampledFrom(names).Draw(t, "runner")
	if m.Remove(id, scheduler.RemovedInfrastructure) == nil {
		delete(m.has, id)
		delete(m.cordoned, id)
		m.dropped(id)
	}
}

func (m *machine) cancelAny(t *rapid.T) {
	if jobs := m.List().Jobs; len(jobs) > 0 {
		if _, err := m.Cancel(rapid.SampledFrom(jobs).Draw(t, "job").ID); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *machine) expireAll(t *rapid.T) {
	m.hand.move(time.Hour)
	m.Expire()
	clear(m.live)
}

// check holds everything that the queue shows against the model.
func (m *machine) check(t *rapid.T) {
	leased, used, waits, limited := map[string]int{}, map[string]int64{}, 0, 0
	for _, j := range m.List().Jobs {
		switch j.State {
		case queue.Leased:
			leased[j.Runner]++
			used[j.Runner] += j.Resources.CPUMilli
			if j.Requirement.Tenant == "acme" {
				limited++
			}
		case queue.Waiting:
			waits++
		}
	}
	live := map[string]int{}
	for h := range m.live {
		live[h.runner]++
	}
	demand := m.Demand()
	if demand.Revision < m.revision {
		t.Fatalf("the revision went from %d to %d", m.revision, demand.Revision)
	}
	m.revision = demand.Revision
	if len(demand.Running) != len(m.has) {
		t.Fatalf("it lists %d runners of %d", len(demand.Running), len(m.has))
	}
	for _, r := range demand.Running {
		if r.Leases != leased[r.Runner] || r.Leases != live[r.Runner] || r.Cordoned != m.cordoned[r.Runner] {
			t.Fatalf("it lists %+v; its jobs say %d leases and its worker %d", r, leased[r.Runner], live[r.Runner])
		}
		if has := m.has[r.Runner]; r.Leases > int(max(1, has.Slots)) || used[r.Runner] > has.Resources.CPUMilli {
			t.Fatalf("%s has %d leases and %d of cpu", r.Runner, r.Leases, used[r.Runner])
		}
	}
	counted, admissible := 0, 0
	for _, q := range demand.Queued {
		counted += q.Count
		if q.Requirement.Tenant == "acme" {
			admissible += *q.Admissible
		} else if *q.Admissible != q.Count {
			t.Fatalf("nothing blocks %+v", q)
		}
	}
	if counted != waits || limited > 2 || admissible > 2-limited {
		t.Fatalf("%d jobs wait and %d are counted; acme runs %d and may run %d more", waits, counted, limited, admissible)
	}
}

func TestNoJobHasTwoLeasesAndNoCordonedRunnerGetsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(nil, func(o *queue.Options) { o.TenantLimits = map[string]int{"acme": 2} })
		m := &machine{world: w, has: map[string]forgeyard.Admit{}, cordoned: map[string]bool{}, live: map[held]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"admit":       m.admitAny,
			"submit":      m.submitAny,
			"lease":       m.leaseAny,
			"lease again": m.leaseAny,
			"end":         m.endAny,
			"cordon":      m.cordonAny,
			"uncordon":    m.uncordonAny,
			"remove":      m.removeAny,
			"cancel":      m.cancelAny,
			"expire":      m.expireAll,
			"":            m.check,
		})
	})
}
