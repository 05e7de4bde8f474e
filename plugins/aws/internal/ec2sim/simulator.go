package ec2sim

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Options are what a simulated account is like. The zero value is an account
// without delays and without limits.
type Options struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Region is the one the simulator answers for; empty is us-east-1. A
	// request that is signed for another one is refused.
	Region string
	// Account is the account's number; empty is 111122223333.
	Account string
	// LargestPage makes every page at most this long, whatever is asked for:
	// the API may always show fewer. 0 leaves pages as asked for.
	LargestPage int
	// Throttled switches on the published buckets of requests and resources.
	Throttled bool
	Delays
}

// Delays are how long the account takes.
type Delays struct {
	// Visible is how long a new instance is missing from everything that reads, and a
	// new host from lists.
	Visible time.Duration
	// Flapping is how long after that it is in every second answer only.
	Flapping time.Duration
	// Running is the time from pending to running.
	Running time.Duration
	// Terminating is the time from shutting-down to terminated.
	Terminating time.Duration
	// Closing is how long the request of a spot instance is still active when its
	// instance has ended.
	Closing time.Duration
	// Forgotten is how long a terminated instance is still shown; 0 is an hour.
	Forgotten time.Duration
	// Scrubbing is how long a Mac host is pending after its instance ended.
	Scrubbing time.Duration
}

// Simulator is one account in one region. It is an http.Handler, and every
// method may be called by several goroutines at once.
type Simulator struct {
	options Options

	mutex    sync.Mutex
	ahead    time.Duration // how far Advance has moved the clock
	changed  chan struct{} // closed and replaced when time or a queue moves
	requests int
	faults   []*Fault
	calls    map[string]int
	called   map[string]bool // with their services
	world    world
	buckets  buckets
}

// New makes an account with the network that [world] describes.
func New(options Options) *Simulator {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Region == "" {
		options.Region = "us-east-1"
	}
	if options.Account == "" {
		options.Account = "111122223333"
	}
	if options.Forgotten == 0 {
		options.Forgotten = time.Hour
	}
	s := &Simulator{options: options, changed: make(chan struct{}), calls: map[string]int{}, called: map[string]bool{}}
	s.world = newWorld(options)
	s.buckets = newBuckets(s.now())
	return s
}

// Advance moves the clock, so that what time brings about has happened.
func (s *Simulator) Advance(by time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.ahead += by
	s.settle(s.now())
	s.wake()
}

// Calls tells how many requests of the operation have come, including those that were refused
// or failed by a Fault.
func (s *Simulator) Calls(operation string) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.calls[operation]
}

// Called lists the operations that were asked for with their services, such as
// "ec2:RunInstances", in order.
func (s *Simulator) Called() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Sorted(maps.Keys(s.called))
}

// Now is the account's time.
func (s *Simulator) Now() time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.now()
}

func (s *Simulator) now() time.Time { return s.options.Now().Add(s.ahead) }

func (s *Simulator) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// requestID numbers the answers, so that the same requests get the same bytes.
func (s *Simulator) requestID() string {
	s.requests++
	return fmt.Sprintf("00000000-0000-4000-8000-%012x", s.requests)
}

// largestBody bounds a request as the API does, roughly: 16 KiB of user data
// with everything around it is far below.
const largestBody = 1 << 20

// ServeHTTP answers one request of any of the services: which one, its
// signature says.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(io.LimitReader(request.Body, largestBody+1))
	if err != nil || len(body) > largestBody {
		http.Error(w, "the body can't be read or is over 1 MiB", http.StatusBadRequest)
		return
	}
	call := s.identify(request, string(body))

	s.mutex.Lock()
	s.calls[call.operation]++
	s.called[call.service+":"+call.operation] = true
	fault := s.takeFault(call.operation)
	s.mutex.Unlock()

	answer := s.answerWithFault(request, call, fault)
	if answer == nil {
		// The connection ends without an answer, which only this panic does.
		panic(http.ErrAbortHandler)
	}
	answer.write(w)
}

// answerWithFault runs the call as far as the fault lets it; nil is not an answer at all.
func (s *Simulator) answerWithFault(request *http.Request, call call, fault *Fault) *reply {
	var answer reply
	if fault == nil || fault.After || fault.delays() {
		answer = call.run(request.Context())
	}
	switch {
	case fault == nil:
	case fault.delays():
		fault.wait(request.Context())
	case fault.refusal() != nil:
		s.mutex.Lock()
		defer s.mutex.Unlock()
		answer = call.refused(s.requestID(), fault.refusal())
	default:
		return nil
	}
	return &answer
}
