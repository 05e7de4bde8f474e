package libvirt

import (
	"maps"
	"slices"
	"sync"
)

// placement keeps requests that run side by side from taking the same room, and
// from counting a machine twice: by its promise, and as it is seen.
type placement struct {
	mutex    sync.Mutex
	clock    int                // counts looks and ends of promises
	looks    map[int]bool       // those under way, by when they began
	promised map[string]promise // by key
	tried    map[string]*host   // by key: the host that may have made it
}

// promise is the room that a request was given.
type promise struct {
	host    *host
	need    need
	devices []string
	ended   int // since when its machine is there to be seen; 0: it isn't yet
}

func newPlacement() *placement {
	return &placement{looks: map[int]bool{}, promised: map[string]promise{}, tried: map[string]*host{}}
}

// lookBegins is when the hosts began to be looked at: a machine that comes later may
// not be seen.
func (p *placement) lookBegins() (since int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.clock++
	p.looks[p.clock] = true
	return p.clock
}

// lookEnds forgets the promises whose machines every look under way sees.
// The mutex is held.
func (p *placement) lookEnds(since int) {
	delete(p.looks, since)
	oldest := p.clock + 1
	if len(p.looks) > 0 {
		oldest = slices.Min(slices.Collect(maps.Keys(p.looks)))
	}
	maps.DeleteFunc(p.promised, func(_ string, made promise) bool { return made.ended != 0 && made.ended < oldest })
}

// withPromises adds to a room, as it was seen since then, what is promised of it and
// wasn't seen. The mutex is held.
func (p *placement) withPromises(r *room, since int) {
	for key, made := range p.promised {
		if made.host != r.host || r.keys[key] || made.ended != 0 && made.ended < since {
			continue
		}
		r.used = r.used.plus(made.need)
		r.ours++
		for _, device := range made.devices {
			r.devices[device] = true
		}
	}
}

// placed ends the promise: the machine may be there to be seen, or it never will be.
func (p *hosts) placed(key string, there bool) {
	p.placement.mutex.Lock()
	defer p.placement.mutex.Unlock()
	made, promised := p.placement.promised[key]
	if !there || !promised {
		delete(p.placement.promised, key)
		return
	}
	p.placement.clock++
	made.ended = p.placement.clock
	p.placement.promised[key] = made
}

// tries remembers which host a request went to, until it is certain what came of it.
func (p *hosts) tries(key string, h *host) {
	p.placement.mutex.Lock()
	defer p.placement.mutex.Unlock()
	if h == nil {
		delete(p.placement.tried, key)
		return
	}
	p.placement.tried[key] = h
}
