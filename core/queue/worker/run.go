package worker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// mostRenewal is how long a renewal waits for orders at most.
const mostRenewal = 10 * time.Second

// run runs a leased job and delivers its result. An error says that this worker
// is of no use any more.
func (w *worker) run(ctx context.Context, id string, lease Lease) error {
	log := w.Logger.With("job", lease.Job, "attempt", lease.Attempt)
	p, err := w.begin(lease)
	if err != nil {
		log.Error("could not start a job", "error", err)
		return w.deliver(ctx, id, Result{ExitStatus: -1, Reason: "did not start: " + err.Error()})
	}
	log.Info("job started", "pid", p.pid())
	result, wanted := w.supervise(ctx, id, lease, p)
	log.Info("job ended", "reason", result.Reason, "interrupted", result.Interrupted)
	if err := p.removeFolder(); err != nil {
		log.Warn("could not remove the files of a job", "error", err)
	}
	if !wanted {
		return nil
	}
	return w.deliver(ctx, id, result)
}

// supervision is what is under way for a running job.
type supervision struct {
	p *process
	// asked says that this worker asked the job to end.
	asked bool
	// discarded says that the queue doesn't want the result.
	discarded bool
	// told says that the job was told of the interruption, cut that its time to
	// save its state is over.
	told, cut bool
	deadline  <-chan time.Time
	force     <-chan time.Time
}

// supervise renews the lease and carries out the queue's orders until no process
// of the job's group is left. While the queue is away the job continues.
func (w *worker) supervise(ctx context.Context, id string, lease Lease, p *process) (result Result, wanted bool) {
	renewing, cancel := context.WithCancel(ctx)
	orders := make(chan orderOrVoid)
	renewed := make(chan struct{})
	go func() { defer close(renewed); w.renew(renewing, id, lease, p, orders) }()
	defer func() { cancel(); <-renewed }()
	s := supervision{p: p}
	ended := ctx.Done()
	var interrupted <-chan struct{} // a job that can't save its state isn't told
	if lease.Checkpoint {
		interrupted = w.host.heard
	}
	for {
		select {
		case <-p.over:
			return w.result(s), !s.discarded
		case o := <-orders:
			w.execute(&s, o)
		case <-interrupted:
			interrupted = nil
			w.execute(
				&s,
				orderOrVoid{Orders: Orders{Interrupted: true, DeadlineSeconds: max(0, time.Until(w.host.until).Seconds())}},
			)
		case <-s.deadline:
			s.cut, s.deadline = true, nil
			w.end(&s)
		case <-s.force:
			s.force = nil
			p.signal(kill)
		case <-ended:
			ended, s.discarded = nil, true
			w.end(&s)
		}
	}
}

// execute carries out an order. Orders are repeated, so each is carried out once.
func (w *worker) execute(s *supervision, o orderOrVoid) {
	switch {
	case o.void:
		w.Logger.Warn("the lease of a running job is void; ending the job", "answer", o.why)
		s.discarded = true
		w.end(s)
	case o.Cancel:
		w.end(s)
	case o.Interrupted && !s.told:
		left := time.Duration(o.DeadlineSeconds * float64(time.Second))
		s.told, s.deadline = true, time.After(left)
		if err := s.p.interrupt(left); err != nil {
			w.Logger.Warn("could not tell a job to save its state", "error", err)
		}
	}
}

// end asks the job to end, once, and forces it after the grace.
func (w *worker) end(s *supervision) {
	if !s.asked {
		s.asked = true
		s.p.signal(ask)
		s.force = time.After(w.Grace)
	}
}

func (w *worker) result(s supervision) Result {
	r := Result{ExitStatus: s.p.exitStatus(), Reason: s.p.exitText(), Tail: s.p.tail.text()}
	r.Interrupted = s.cut || s.told && r.ExitStatus != 0
	if s.p.wasAsked() && !s.asked {
		// It wasn't this worker that ended it. If the whole host is being stopped,
		// this process hears of it in the same moment.
		select {
		case <-w.taking.Done():
			r.Interrupted = true
		case <-time.After(stopTime):
		}
	}
	return r
}

// stopTime is how far apart the signals to a job and to its worker may come.
const stopTime = 200 * time.Millisecond

// orderOrVoid is what a renewal brought.
type orderOrVoid struct {
	Orders
	void bool
	why  string
}

// renew renews the lease again and again until ctx ends, and passes orders on.
func (w *worker) renew(ctx context.Context, id string, lease Lease, p *process, orders chan<- orderOrVoid) {
	wait := min(mostRenewal, time.Duration(lease.ExpireSeconds*float64(time.Second))/3)
	for failures := 0; ctx.Err() == nil; {
		begun := time.Now()
		got, err := w.queue.renew(ctx, id, RenewRequest{Tail: p.tail.text(), WaitSeconds: wait.Seconds()}, wait)
		o := orderOrVoid{Orders: got}
		switch {
		case isRefused(err, void), isRefused(err, unknown):
			o.void, o.why = true, err.Error()
		case err != nil:
			failures++
			w.complain("renew a lease", failures, err)
			w.pause(ctx, failures)
			continue
		}
		failures = 0
		if o.void || got != (Orders{}) {
			select {
			case orders <- o:
			case <-ctx.Done():
			}
		}
		if o.void {
			return
		}
		// With an order standing the queue answers at once.
		select {
		case <-time.After(wait - time.Since(begun)):
		case <-ctx.Done():
		}
	}
}

// begin starts a job in a new folder, with a clean environment.
func (w *worker) begin(lease Lease) (*process, error) {
	folder, err := os.MkdirTemp(w.Folder, "job-")
	if err != nil {
		return nil, fmt.Errorf("make the job's folder: %w", err)
	}
	p := &process{folder: folder, notice: filepath.Join(folder, "interruption")}
	home, temporary := filepath.Join(folder, "work"), filepath.Join(folder, "tmp")
	for _, one := range []string{home, temporary} {
		if err == nil {
			err = os.Mkdir(one, 0o700)
		}
	}
	if err == nil {
		err = p.start(lease.Command, home, w.environment(lease, p, home, temporary))
	}
	if err != nil {
		_ = p.removeFolder()
		return nil, err
	}
	return p, nil
}

// InterruptionVariable is in the environment of a job that declared checkpoint:
// the file that has, once it is signalled, the seconds it has left.
const InterruptionVariable = "FORGEYARD_INTERRUPTION"

// passedOn are the variables of the worker's own environment that jobs have, too:
// by the FORGEYARD_ ones the agent finds what a job left behind.
var passedOn = []string{
	"PATH",
	"LANG",
	"FORGEYARD_JOB",
	"FORGEYARD_HOST_MARK",
	"SystemRoot",
	"SystemDrive",
	"ComSpec",
	"PATHEXT",
	"windir",
}

func (w *worker) environment(lease Lease, p *process, home, temporary string) []string {
	env := []string{"HOME=" + home, "TMPDIR=" + temporary, "USERPROFILE=" + home, "TEMP=" + temporary,
		"TMP=" + temporary}[:sharedHomeVariables]
	for _, variable := range w.Environ {
		for _, name := range passedOn {
			if strings.HasPrefix(variable, name+"=") {
				env = append(env, variable)
			}
		}
	}
	env = append(env, "FORGEYARD_QUEUE_JOB="+lease.Job)
	if lease.Checkpoint {
		env = append(env, InterruptionVariable+"="+p.notice)
	}
	for name, value := range lease.Env {
		env = append(env, name+"="+value)
	}
	return env
}
