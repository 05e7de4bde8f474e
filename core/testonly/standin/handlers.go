package standin

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/scheduler/reviewos"
)

// pollPath is the stand-in's own: how a runner asks for work.
const pollPath = "/api/runner/poll"

func bearer(r *http.Request) string {
	secret, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return secret
}

func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": fmt.Sprintf(format, args...)})
}

func answer(w http.ResponseWriter, content any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(content)
}

// body decodes what was sent; anything that the page doesn't have is refused.
func body(w http.ResponseWriter, r *http.Request, into any) bool {
	if r.Header.Get("Content-Type") != "application/json" {
		refuse(w, http.StatusBadRequest, "Content-Type must be application/json")
		return false
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		refuse(w, http.StatusBadRequest, "%v", err)
		return false
	}
	return true
}

// serveMetrics reports every series of every queue, also at zero.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bearer(r) != MetricsToken {
		refuse(w, http.StatusForbidden, "this token may not read metrics")
		return
	}
	var text strings.Builder
	fmt.Fprintln(&text, "# HELP reviewos_ci_jobs_waiting Jobs that wait.\n# TYPE reviewos_ci_jobs_waiting gauge")
	fmt.Fprintln(&text, "reviewos_up 1")
	for _, queue := range s.queueNames() {
		waiting, running, oldest := 0, 0, 0.0
		for _, j := range s.jobs {
			switch {
			case j.Queue != queue || j.Done:
			case j.runner != 0:
				running++
			default:
				waiting++
				oldest = max(oldest, s.now().Sub(j.waiting).Seconds())
			}
		}
		fmt.Fprintf(&text, "reviewos_ci_jobs_waiting{queue=%q} %d\n", queue, waiting)
		fmt.Fprintf(&text, "reviewos_ci_jobs_running{queue=%q} %d\n", queue, running)
		fmt.Fprintf(&text, "reviewos_ci_jobs_oldest_waiting_seconds{queue=%q} %g\n", queue, oldest)
		for _, lifecycle := range []string{"idle", "running", "stopping", "lost", "disabled", "never-seen"} {
			n := 0
			for _, r := range s.runners {
				if s.queueName(r.Queue) == queue && s.lifecycle(r) == lifecycle {
					n++
				}
			}
			fmt.Fprintf(&text, "reviewos_ci_runners{queue=%q,lifecycle=%q} %d\n", queue, lifecycle, n)
		}
	}
	out := text.String()
	if s.metrics != nil {
		out = s.metrics(out)
	}
	_, _ = io.WriteString(w, out)
}

func (s *Server) queueNames() []string {
	names := []string{Unassigned}
	for _, pool := range s.shape.Pools {
		for _, q := range pool.Queues {
			names = append(names, q.Name)
		}
	}
	for _, j := range s.jobs {
		if !slices.Contains(names, j.Queue) {
			names = append(names, j.Queue)
		}
	}
	return names
}

func (s *Server) serveShape(w http.ResponseWriter, r *http.Request) {
	if bearer(r) != MaintainerToken {
		refuse(w, http.StatusForbidden, "this token may not see the fleet")
		return
	}
	answer(w, s.Shape())
}

// sent is everything that an operation can have.
type sent struct {
	Operation          string `json:"operation"`
	Name               string `json:"name"`
	Description        string `json:"description"`
	RequireSignedSteps *bool  `json:"require_signed_steps"`
	Pool               int64  `json:"pool"`
	Queue              int64  `json:"queue"`
	Runner             int64  `json:"runner"`
	Token              int64  `json:"token"`
	Labels             string `json:"labels"`
	Repository         string `json:"repository"`
	Reason             string `json:"reason"`
	Force              bool   `json:"force"`
}

// serveOperation does one operation of the fleet.
func (s *Server) serveOperation(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bearer(r) != MaintainerToken {
		refuse(w, http.StatusForbidden, "this token is not a pool maintainer's")
		return
	}
	var o sent
	if !body(w, r, &o) {
		return
	}
	var failure Failure
	if s.fail != nil {
		failure = s.fail(o.Operation)
	}
	if failure.Status != 0 {
		refuse(w, failure.Status, "as asked for")
		return
	}
	content, status, why := s.do(o)
	if failure.Lost {
		panic(http.ErrAbortHandler)
	}
	if status != 0 {
		refuse(w, status, "%s", why)
		return
	}
	answer(w, content)
}

// do carries out an operation; a status is a refusal.
func (s *Server) do(o sent) (content any, status int, why string) {
	switch o.Operation {
	case "create-runner":
		if o.Name == "" || slices.ContainsFunc(s.runners, func(r *Runner) bool { return r.Name == o.Name }) {
			return nil, http.StatusConflict, "a runner needs a name that no other has"
		}
		if o.Queue != 0 && s.queueName(o.Queue) == Unassigned {
			return nil, http.StatusUnprocessableEntity, "there is no such queue"
		}
		r, secret := s.join(o.Name, o.Queue, o.Labels, "")
		s.note("create-runner %s", o.Name)
		return map[string]any{"runner": map[string]any{"id": r.ID, "name": r.Name, "token": secret}}, 0, ""
	case "assign-runner", "stop-runner":
		r := s.runner(o.Runner)
		if r == nil {
			return nil, http.StatusNotFound, "there is no such runner"
		}
		s.note("%s %s%s", o.Operation, r.Name, map[bool]string{true: " by force"}[o.Force])
		if o.Operation == "assign-runner" {
			r.Queue = o.Queue
			return map[string]any{}, 0, ""
		}
		r.stopping, r.Forced = true, r.Forced || o.Force
		if o.Force && r.job != nil { // back in the queue, not cancelled
			r.job.runner, r.job = 0, nil
		}
		return map[string]any{}, 0, ""
	case "create-token":
		s.last++
		t := &token{id: s.last, pool: o.Pool, queue: o.Queue}
		secret := rand.Text()
		t.hash = sha256.Sum256([]byte(secret))
		s.tokens = append(s.tokens, t)
		s.note("create-token %s", o.Name)
		return map[string]any{"token": map[string]any{"id": t.id, "token": secret}}, 0, ""
	case "revoke-token":
		for _, t := range s.tokens {
			if t.id == o.Token {
				t.revoked = true
				s.note("revoke-token %d", o.Token)
				return map[string]any{}, 0, ""
			}
		}
		return nil, http.StatusNotFound, "there is no such token"
	}
	return s.doShape(o)
}

// doShape carries out what is about pools and queues. Of these assign-repository
// alone is on the page.
func (s *Server) doShape(o sent) (any, int, string) {
	s.last++
	if o.Operation == "create-pool" {
		if slices.ContainsFunc(s.shape.Pools, func(p reviewos.ShapePool) bool { return p.Name == o.Name }) {
			return nil, http.StatusConflict, "there is such a pool"
		}
		pool := reviewos.ShapePool{
			ID:           s.last,
			Name:         o.Name,
			Description:  o.Description,
			Queues:       []reviewos.ShapeQueue{},
			Repositories: []string{},
		}
		pool.RequireSignedSteps = o.RequireSignedSteps != nil && *o.RequireSignedSteps
		s.shape.Pools = append(s.shape.Pools, pool)
		s.note("create-pool %s", o.Name)
		return map[string]any{"pool": map[string]any{"id": pool.ID}}, 0, ""
	}
	for n := range s.shape.Pools {
		pool := &s.shape.Pools[n]
		for m := range pool.Queues {
			queue := &pool.Queues[m]
			if queue.ID != o.Queue {
				continue
			}
			switch o.Operation {
			case "pause-queue":
				queue.State, queue.Reason = reviewos.QueuePaused, o.Reason
			case "resume-queue":
				queue.State, queue.Reason = reviewos.QueueActive, ""
			default:
				return nil, http.StatusBadRequest, "there is no such operation on a queue"
			}
			s.note("%s %s", o.Operation, queue.Name)
			return map[string]any{}, 0, ""
		}
		if pool.ID != o.Pool {
			continue
		}
		switch o.Operation {
		case "update-pool":
			pool.Description = o.Description
			pool.RequireSignedSteps = o.RequireSignedSteps != nil && *o.RequireSignedSteps
			s.note("update-pool %s", pool.Name)
			return map[string]any{}, 0, ""
		case "create-queue":
			pool.Queues = append(pool.Queues, reviewos.ShapeQueue{ID: s.last, Name: o.Name, State: reviewos.QueueActive})
			s.note("create-queue %s", o.Name)
			return map[string]any{"queue": map[string]any{"id": s.last}}, 0, ""
		case "assign-repository":
			pool.Repositories = append(pool.Repositories, o.Repository)
			s.note("assign-repository %s", o.Repository)
			return map[string]any{}, 0, ""
		}
	}
	return nil, http.StatusBadRequest, "there is no such operation, pool or queue"
}

// join makes a runner and its credential, which is told once.
func (s *Server) join(name string, queue int64, labels, tags string) (*Runner, string) {
	s.last++
	secret := rand.Text()
	r := &Runner{
		ID:         s.last,
		Name:       name,
		Queue:      queue,
		Labels:     labels,
		Tags:       tags,
		credential: sha256.Sum256([]byte(secret)),
	}
	s.runners = append(s.runners, r)
	return r, secret
}

func (s *Server) serveRegister(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("X-Runner-Protocol") != "1" {
		refuse(w, http.StatusBadRequest, "X-Runner-Protocol must be 1")
		return
	}
	hash := sha256.Sum256([]byte(bearer(r)))
	n := slices.IndexFunc(s.tokens, func(t *token) bool { return t.hash == hash && !t.revoked })
	if n < 0 {
		refuse(w, http.StatusForbidden, "this is not a registration token, or it was revoked")
		return
	}
	var machine reviewos.Registration
	if !body(w, r, &machine) {
		return
	}
	runner, secret := s.join(machine.Name, s.tokens[n].queue, machine.Labels, machine.Tags)
	s.note("register %s", machine.Name)
	answer(w, map[string]any{"runner": map[string]any{"id": runner.ID, "token": secret}})
}

func (s *Server) serveDownload(w http.ResponseWriter, r *http.Request) {
	if target := r.URL.Query().Get("target"); s.binary == "" || !strings.HasPrefix(target, "linux-") {
		refuse(w, http.StatusNotFound, "there is no runner for %q", target)
		return
	}
	file, err := os.Open(s.binary)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "%v", err)
		return
	}
	defer file.Close()
	_, _ = io.Copy(w, file)
}

// polled is what a runner says and hears.
type polled struct {
	Finished int64  `json:"finished,omitempty"`
	Job      int64  `json:"job,omitempty"`
	Script   string `json:"script,omitempty"`
	Stop     bool   `json:"stop,omitempty"`
}

func (s *Server) servePoll(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var said polled
	if !body(w, r, &said) {
		return
	}
	job, stop, err := s.poll(bearer(r), said.Finished)
	if err != nil {
		refuse(w, http.StatusForbidden, "%v", err)
		return
	}
	heard := polled{Stop: stop}
	if job != nil {
		heard = polled{Job: job.ID, Script: job.Script}
	}
	answer(w, heard)
}
