package aws

import (
	"sync"
	"time"
)

// facts are answers that hold for a while, with their age. They are a cache: after a
// start of the plugin everything is read again.
type facts[K comparable, V any] struct {
	now func() time.Time
	// fresh is how long an answer isn't asked for again, life how long it is better
	// than none.
	fresh, life time.Duration

	mutex  sync.Mutex
	known  map[K]fact[V]
	failed time.Time // when the last question had no answer
}

type fact[V any] struct {
	value V
	at    time.Time
}

// askAgain is how long nothing is asked after a question had no answer: several blocks
// ask the same one after the other.
const askAgain = time.Minute

func newFacts[K comparable, V any](now func() time.Time, fresh, life time.Duration) *facts[K, V] {
	return &facts[K, V]{now: now, fresh: fresh, life: life, known: map[K]fact[V]{}}
}

// get gives what is known, whether it is fresh, and whether it is known at all.
func (f *facts[K, V]) get(key K) (value V, fresh, known bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	one, known := f.known[key]
	age := f.now().Sub(one.at)
	if !known || age >= f.life {
		return value, false, false
	}
	return one.value, age < f.fresh, true
}

func (f *facts[K, V]) put(key K, value V) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.known[key] = fact[V]{value, f.now()}
	f.failed = time.Time{}
}

// fail notes that there was no answer, and mayAsk says whether that is long enough ago.
func (f *facts[K, V]) fail() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.failed = f.now()
}

func (f *facts[K, V]) mayAsk() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.failed.IsZero() || f.now().Sub(f.failed) >= askAgain
}
