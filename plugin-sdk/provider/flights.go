package provider

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// flights holds the calls that may be at work in the infrastructure, one for
// each key. It gives three guarantees:
//
//   - Two calls for one key are one call with one answer.
//   - A call is registered before its RPC's context can be seen as cancelled, or
//     never begins. A host that gives up on a Provision and then asks Inspect
//     over the same connection therefore sees the call in flight, or its result
//     in the list, or knows that it never happens.
//   - A watch reports every create that was in flight at any moment between its
//     begin and its end, so that "neither in flight nor in the list" is a proof.
type flights struct {
	mutex    sync.Mutex
	draining bool
	open     map[string]*flight
	watches  map[*watch]struct{}
	// unanswered counts items whose answer hasn't been handed to their stream.
	unanswered int
	quiet      chan struct{} // closed when unanswered falls to zero; nil: no caller waits
}

// flight is one call for one key, or for all members of a batch, each of which has
// it under its own key. Exactly one of the answers is set when done is closed.
type flight struct {
	creates    bool
	batch      string // the key of the batch; empty: it is of one key
	done       chan struct{}
	created    *providerpb.ProvisionResponse
	members    map[string]*providerpb.ProvisionResponse
	terminated *providerpb.TerminateResponse
}

// watch gathers the keys of creates in flight.
type watch struct {
	seen map[string]struct{}
}

// Why a call doesn't begin. Nothing was begun for it in all three cases.
var (
	errDraining  = errors.New("the plugin is draining and begins no new calls")
	errCancelled = errors.New("the host gave up on the call before it began")
	errBusy      = errors.New("another call for the same key is still running")
)

func newFlights() *flights {
	return &flights{open: map[string]*flight{}, watches: map[*watch]struct{}{}}
}

// join finds the flight for the name or begins one; begun says which. Only who
// began it may run the call, and must land it.
func (f *flights) join(ctx context.Context, name string, creates bool) (joined *flight, begun bool, err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if running, exists := f.open[name]; exists {
		if running.creates != creates || running.batch != "" {
			return nil, false, errBusy
		}
		return running, false, nil
	}
	joined = &flight{creates: creates, done: make(chan struct{})}
	if err := f.begin(ctx, joined, name); err != nil {
		return nil, false, err
	}
	return joined, true, nil
}

// joinBatch finds the flight of a batch, or begins one for all its members.
func (f *flights) joinBatch(
	ctx context.Context, batch string, members []string,
) (joined *flight, begun bool, err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	under := 0
	for _, name := range members {
		if running, exists := f.open[name]; exists {
			if !running.creates || running.batch != batch || joined != nil && joined != running {
				return nil, false, errBusy
			}
			joined = running
			under++
		}
	}
	switch {
	case under > 0 && under < len(members):
		return nil, false, errBusy // the same batch has the same members
	case under > 0:
		return joined, false, nil
	}
	joined = &flight{creates: true, batch: batch, done: make(chan struct{})}
	if err := f.begin(ctx, joined, members...); err != nil {
		return nil, false, err
	}
	return joined, true, nil
}

// begin registers a flight under its names.
func (f *flights) begin(ctx context.Context, one *flight, names ...string) error {
	if ctx.Err() != nil {
		return errCancelled
	}
	if f.draining {
		return errDraining
	}
	for _, name := range names {
		f.open[name] = one
		if one.creates {
			for each := range f.watches {
				each.seen[name] = struct{}{}
			}
		}
	}
	return nil
}

// mayStart is asked once more when a registered call gets its turn: what was
// drained or given up while it queued never begins.
func (f *flights) mayStart(ctx context.Context) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.draining {
		return errDraining
	}
	if ctx.Err() != nil {
		return errCancelled
	}
	return nil
}

// land ends the flight. Its answer must be set.
func (f *flights) land(landed *flight, names ...string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, name := range names {
		delete(f.open, name)
	}
	close(landed.done)
}

// watch begins to gather creates in flight, those that run now among them.
func (f *flights) watch() *watch {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	begun := &watch{seen: map[string]struct{}{}}
	for name, running := range f.open {
		if running.creates {
			begun.seen[name] = struct{}{}
		}
	}
	f.watches[begun] = struct{}{}
	return begun
}

// endWatch gives the keys, sorted.
func (f *flights) endWatch(ended *watch) []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.watches, ended)
	return slices.Sorted(maps.Keys(ended.seen))
}

// owe notes that n answers are due; paid that one was handed over or can't be.
func (f *flights) owe(n int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.unanswered += n
}

func (f *flights) paid() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.unanswered--
	if f.unanswered == 0 && f.quiet != nil {
		close(f.quiet)
		f.quiet = nil
	}
}

// drain lets no new call begin, and waits until every answer is given or the
// context ends. It says how many are still due.
func (f *flights) drain(ctx context.Context) int {
	f.mutex.Lock()
	f.draining = true
	if f.unanswered == 0 {
		f.mutex.Unlock()
		return 0
	}
	if f.quiet == nil {
		f.quiet = make(chan struct{})
	}
	quiet := f.quiet
	f.mutex.Unlock()

	select {
	case <-quiet:
	case <-ctx.Done():
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.unanswered
}
