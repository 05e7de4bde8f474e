package aws

import (
	"maps"
	"sync"
	"time"
)

// signatureLife is how long after it was signed a request can still have its
// effect: the API refuses older signatures.
const signatureLife = 15 * time.Minute

// recent remembers what lists may not show yet. It is only caution: after a start
// of the plugin it is empty, and the host's own waiting is what holds.
type recent struct {
	now func() time.Time

	mutex  sync.Mutex
	doubts map[string]time.Time // by key: until when a request without an answer may have its effect
	made   map[string]time.Time // by key and by id: until when it may be missing from lists
}

func newRecent(now func() time.Time) *recent {
	return &recent{now: now, doubts: map[string]time.Time{}, made: map[string]time.Time{}}
}

// doubt remembers that a request of the key got no answer that settles it.
func (r *recent) doubt(key string) { r.remember(r.doubts, signatureLife, key) }

// doubtful says whether an earlier request of the key may still have its effect.
func (r *recent) doubtful(key string) bool { return r.holds(r.doubts, key) }

// create remembers a machine that was made now.
func (r *recent) create(key, id string) {
	r.remember(r.made, listSettle, key, id)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.doubts, key)
}

// invisible says whether the thing of a key or an id may exist without being listed.
func (r *recent) invisible(name string) bool { return r.holds(r.made, name) || r.doubtful(name) }

func (r *recent) remember(in map[string]time.Time, life time.Duration, names ...string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	now := r.now()
	maps.DeleteFunc(in, func(_ string, until time.Time) bool { return now.After(until) })
	for _, name := range names {
		in[name] = now.Add(life)
	}
}

func (r *recent) holds(in map[string]time.Time, name string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	until, there := in[name]
	return there && r.now().Before(until)
}
