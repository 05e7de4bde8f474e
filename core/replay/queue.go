package replay

import "time"

// kindState is the jobs of one kind that wait, the earliest first.
type kindState struct {
	*Kind
	need []int64
	// can are the fleets that can run them.
	can map[*fleetState]bool
	// waiting are the places of the jobs in the trace, from first on.
	waiting []int
	first   int
	// unrunnable counts the jobs of a kind that no fleet can run.
	unrunnable int
}

func (k *kindState) count() int { return len(k.waiting) - k.first }

// next takes the job that waits longest.
func (k *kindState) next() int {
	job := k.waiting[k.first]
	k.first++
	if k.first == len(k.waiting) {
		k.waiting, k.first = k.waiting[:0], 0
	}
	return job
}

// arrive gives a new job to the first host with room, in the order in which the
// hosts were made, or lets it wait. Jobs of its kind that wait already go first.
func (r *replay) arrive(job int) {
	k := r.kinds[r.trace.Jobs[job].Kind]
	if len(k.can) == 0 {
		k.unrunnable++
		return
	}
	if k.count() == 0 {
		for _, h := range r.hosts {
			if k.can[h.fleet] && h.takesWork() && h.fits(k.need) {
				r.start(k, job, h)
				return
			}
		}
	}
	k.waiting = append(k.waiting, job)
	r.waiting++
}

// fill gives a host that has room the jobs that may run there: those of the
// highest priority first, then the ones that wait longest.
func (r *replay) fill(h *host) {
	for h.takesWork() {
		var best *kindState
		for _, k := range r.kinds {
			if k.count() == 0 || !k.can[h.fleet] || !h.fits(k.need) {
				continue
			}
			if best == nil || k.Priority > best.Priority ||
				k.Priority == best.Priority && k.waiting[k.first] < best.waiting[best.first] {
				best = k
			}
		}
		if best == nil {
			return
		}
		job := best.next()
		r.waiting--
		r.start(best, job, h)
	}
}

// start runs a job on a host and notes how long it has waited.
func (r *replay) start(k *kindState, job int, h *host) {
	j := &r.trace.Jobs[job]
	r.waits = append(r.waits, time.Duration(r.now-j.Arrival))
	if h.Leases == 0 {
		r.busy++
	}
	h.begin(k.need, r.now)
	h.fleet.jobs++
	h.fleet.used += share(k.need, h.fleet.capacity) * j.Duration.Seconds()
	r.running++
	r.happens(event{at: r.now + int64(j.Duration), host: h, kind: ended, need: k.need})
}

// finish ends a job.
func (r *replay) finish(h *host, need []int64) {
	h.end(need, r.now)
	if h.Leases == 0 {
		r.busy--
	}
	r.running--
	r.lastEnd = r.now
	r.fill(h)
	r.leaveWhenIdle(h)
}
