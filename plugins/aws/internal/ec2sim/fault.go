package ec2sim

import (
	"context"
	"time"
)

// A Fault makes the next requests of one operation fail, each in the same way.
type Fault struct {
	// Operation is the action, such as "RunInstances"; empty means any.
	Operation string
	// Count is how many requests fail; 0 means one.
	Count int
	// After fails the answer of a request that has had its effect. Without it
	// the request has none.
	After bool
	// Status and Code make the answer a refusal, such as 500 InternalError.
	// With neither the connection is cut and there is no answer.
	Status int
	Code   string
	// Message is the text of the refusal; empty gives one that names the code.
	Message string
	// Late lets the answer be the true one, but only after this time.
	Late time.Duration
	// Until, where it is set, holds the answer back until it is closed. The
	// answer is then the true one.
	Until <-chan struct{}
}

// Inject adds a fault; several of one operation come in the order of adding.
func (s *Simulator) Inject(fault Fault) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if fault.Count == 0 {
		fault.Count = 1
	}
	s.faults = append(s.faults, &fault)
}

// takeFault gives the fault for this request, or nil.
func (s *Simulator) takeFault(operation string) *Fault {
	for _, fault := range s.faults {
		if fault.Count > 0 && (fault.Operation == "" || fault.Operation == operation) {
			fault.Count--
			taken := *fault
			return &taken
		}
	}
	return nil
}

// delays tells whether the fault holds a true answer back.
func (f *Fault) delays() bool { return f.Late > 0 || f.Until != nil }

func (f *Fault) wait(ctx context.Context) {
	if f.Until != nil {
		select {
		case <-f.Until:
		case <-ctx.Done():
		}
		return
	}
	timer := time.NewTimer(f.Late)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// refusal is the fault's answer, or nil where the connection is cut.
func (f *Fault) refusal() *apiError {
	if f.Status == 0 && f.Code == "" {
		return nil
	}
	status, code, message := f.Status, f.Code, f.Message
	if status == 0 {
		status = 400
	}
	if code == "" {
		code = "InternalError"
	}
	if message == "" {
		message = "The request failed as a fault of the simulator says: " + code
	}
	return &apiError{status: status, code: code, message: message}
}
