package standin

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/scheduler/reviewos"
)

// The tokens of a stand-in: each is good for its own calls alone.
const (
	MetricsToken    = "metrics-token-of-the-stand-in"
	MaintainerToken = "maintainer-token-of-the-stand-in"
)

// Unassigned is the queue of what is in none.
const Unassigned = "unassigned"

// Runner is one runner that the server knows.
type Runner struct {
	ID     int64
	Name   string
	Queue  int64
	Labels string
	Tags   string
	// Forced says that it was stopped by force.
	Forced bool

	credential [sha256.Size]byte // the column holds a hash
	disabled   bool
	stopping   bool
	seen       time.Time
	job        *Job
}

// Job is one job.
type Job struct {
	ID     int64
	Queue  string
	Script string
	// Starts is how often it was handed to a runner.
	Starts  int
	Done    bool
	waiting time.Time
	runner  int64
}

type token struct {
	id, pool, queue int64
	hash            [sha256.Size]byte
	revoked         bool
}

// Server is a running stand-in.
type Server struct {
	URL string

	mu      sync.Mutex
	now     func() time.Time
	shape   reviewos.Shape
	runners []*Runner
	jobs    []*Job
	tokens  []*token
	last    int64
	// lostAfter is how long a runner may be silent.
	lostAfter time.Duration
	calls     []string
	fail      func(operation string) Failure
	binary    string
	metrics   func(string) string
}

// Failure is how a call goes wrong. The zero value: it doesn't.
type Failure struct {
	// Status answers without doing anything.
	Status int
	// Lost does it, and the answer never comes.
	Lost bool
}

// New starts a stand-in with the pool "Deployment" (3), and in it the queues
// "linux-x64-large" (7) and "macos-arm64" (8), paused as nothing is yet.
func New(t testing.TB, now func() time.Time) *Server {
	s := &Server{
		now: now, last: 100, lostAfter: time.Minute,
		shape: reviewos.Shape{Pools: []reviewos.ShapePool{{ID: 3, Name: "Deployment", Queues: []reviewos.ShapeQueue{
			{
				ID:    7,
				Name:  "linux-x64-large",
				State: reviewos.QueueActive,
			},
			{ID: 8, Name: "macos-arm64", State: reviewos.QueueActive},
		}, Repositories: []string{}}}},
	}
	server := httptest.NewServer(s.handler())
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+reviewos.MetricsPath, s.serveMetrics)
	mux.HandleFunc("POST "+reviewos.FleetPath, s.serveOperation)
	mux.HandleFunc("GET "+reviewos.FleetPath, s.serveShape)
	mux.HandleFunc("POST "+reviewos.RegisterPath, s.serveRegister)
	mux.HandleFunc("GET "+reviewos.DownloadPath, s.serveDownload)
	mux.HandleFunc("POST "+pollPath, s.servePoll)
	return mux
}

// Fail makes operations go wrong as the function says.
func (s *Server) Fail(how func(operation string) Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = how
}

// Metrics changes the text of the metrics before it goes out.
func (s *Server) Metrics(change func(string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.metrics = change
}

// Offer makes the file at the path the runner that is downloaded.
func (s *Server) Offer(path string) { s.binary = path }

// Calls are the operations that were done, each with what it was about.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Runners are all runners, as they are now.
func (s *Server) Runners() []Runner {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Runner
	for _, r := range s.runners {
		out = append(out, *r)
	}
	return out
}

// Count counts the runners of a queue in a lifecycle.
func (s *Server) Count(queue, lifecycle string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runners {
		if s.queueName(r.Queue) == queue && s.lifecycle(r) == lifecycle {
			n++
		}
	}
	return n
}

// Submit makes a job wait in a queue.
func (s *Server) Submit(queue, script string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.jobs = append(s.jobs, &Job{ID: s.last, Queue: queue, Script: script, waiting: s.now()})
	return s.last
}

// Jobs are all jobs, as they are now.
func (s *Server) Jobs() []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Job
	for _, j := range s.jobs {
		out = append(out, *j)
	}
	return out
}

// Shape is the pools and queues as they are now.
func (s *Server) Shape() reviewos.Shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := reviewos.Shape{Pools: slices.Clone(s.shape.Pools)}
	for n := range out.Pools {
		out.Pools[n].Queues = slices.Clone(out.Pools[n].Queues)
		out.Pools[n].Repositories = slices.Clone(out.Pools[n].Repositories)
	}
	return out
}

// Change lets a person at the instance change its pools and queues.
func (s *Server) Change(change func(*reviewos.Shape)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.shape)
}

// Disable is an operator who disables a runner, or not.
func (s *Server) Disable(id int64, disabled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runner(id); r != nil {
		r.disabled = disabled
	}
}

// Poll is one poll of a runner: it is seen, and has a job or not.
func (s *Server) Poll(credential string) (job *Job, stop bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.poll(credential, 0)
}

// Finish is a runner that reports the end of a job, and asks for more.
func (s *Server) Finish(credential string, id int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _, err := s.poll(credential, id)
	return err
}

var errCredential = errors.New("no runner has this credential")

// poll is what a runner does again and again: report what it finished, and ask.
func (s *Server) poll(credential string, finished int64) (*Job, bool, error) {
	n := slices.IndexFunc(s.runners, func(r *Runner) bool { return r.credential == sha256.Sum256([]byte(credential)) })
	if n < 0 {
		return nil, false, errCredential
	}
	r := s.runners[n]
	r.seen = s.now()
	if r.job != nil && r.job.ID == finished {
		r.job.Done, r.job.runner, r.job = true, 0, nil
	}
	switch {
	case r.job != nil:
		return r.job, r.stopping, nil
	case r.stopping:
		return nil, true, nil
	case r.disabled:
		return nil, false, nil
	}
	queue, paused := s.queueOf(r.Queue)
	for _, j := range s.jobs {
		if j.Queue == queue && !paused && !j.Done && j.runner == 0 {
			j.runner, r.job = r.ID, j
			j.Starts++
			return j, false, nil
		}
	}
	return nil, false, nil
}

// lifecycle is what a runner is actually doing. lost is never set.
func (s *Server) lifecycle(r *Runner) string {
	switch {
	case r.disabled:
		return "disabled"
	case r.stopping:
		return "stopping"
	case r.seen.IsZero():
		return "never-seen"
	case s.now().Sub(r.seen) > s.lostAfter:
		return "lost"
	case r.job != nil:
		return "running"
	}
	return "idle"
}

func (s *Server) runner(id int64) *Runner {
	for _, r := range s.runners {
		if r.ID == id {
			return r
		}
	}
	return nil
}

func (s *Server) queueName(id int64) string {
	name, _ := s.queueOf(id)
	return name
}

func (s *Server) queueOf(id int64) (name string, paused bool) {
	for _, pool := range s.shape.Pools {
		for _, q := range pool.Queues {
			if q.ID == id {
				return q.Name, q.State == reviewos.QueuePaused
			}
		}
	}
	return Unassigned, false
}

func (s *Server) note(format string, args ...any) {
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
}
