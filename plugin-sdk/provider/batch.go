package provider

import "sync"

// defaultParallel is how many items of one batch run at once.
const defaultParallel = 8

// batch runs the items of one RPC and sends each answer when it is known. It
// waits for all of them even where the stream has broken: they run anyway.
type batch[A any] struct {
	flights *flights
	slots   chan struct{}
	send    func(A) error

	running sync.WaitGroup
	mutex   sync.Mutex // a stream takes one message at a time
	failed  error
}

// answer sends what is known at once.
func (b *batch[A]) answer(answer A) {
	b.follow(func() A { return answer })
}

// follow waits for one item's answer in its own goroutine.
func (b *batch[A]) follow(answer func() A) {
	b.flights.owe(1)
	b.running.Go(func() {
		defer b.flights.paid()
		known := answer()
		b.mutex.Lock()
		defer b.mutex.Unlock()
		if b.failed == nil {
			b.failed = b.send(known)
		}
	})
}

// inSlot runs the work when one of the batch's slots is free.
func (b *batch[A]) inSlot(work func()) {
	b.slots <- struct{}{}
	defer func() { <-b.slots }()
	work()
}

func (b *batch[A]) wait() error {
	b.running.Wait()
	return b.failed
}

// slots bounds one batch.
func (s *server[C, I]) slots() chan struct{} {
	if s.plugin.Parallel > 0 {
		return make(chan struct{}, s.plugin.Parallel)
	}
	return make(chan struct{}, defaultParallel)
}
