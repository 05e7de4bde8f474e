package worker

import (
	"context"
	"encoding/json"
	"os"
	"time"
)

// HostInterruptionVariable names the file that the agent writes when the host is
// about to be taken away.
const HostInterruptionVariable = "FORGEYARD_HOST_INTERRUPTION"

// HostInterruption is that file. Others may be in it that aren't read here.
type HostInterruption struct {
	// Deadline is when the host goes, by its own clock; zero: unknown.
	Deadline time.Time `json:"deadline,omitzero"`
}

// UsualTimeToSave is how long jobs have to save their state where it is unknown when
// the host goes: within the shortest notice that providers give.
const UsualTimeToSave = 25 * time.Second

// reserve is what of a host's last time isn't the jobs': to end those that go
// on all the same, and to deliver what they saved.
const reserve = 15 * time.Second

// TimeToSave is how long jobs have to save their state on a host that goes away in
// so much time.
func TimeToSave(left time.Duration) time.Duration {
	return max(0, left-reserve, left/2)
}

// lookForInterruption is how often the worker looks whether the file is there.
const lookForInterruption = 500 * time.Millisecond

// hostInterruption is what the worker heard from its agent.
type hostInterruption struct {
	// heard is closed when there is an interruption; until is when jobs must have
	// saved their state, valid from then on.
	heard chan struct{}
	until time.Time
}

// watch looks for the agent's file until it is there or ctx ends, and then calls
// heard. The file comes whole, by a rename. The queue says the same by a renewal,
// where it can be reached.
func (h *hostInterruption) watch(ctx context.Context, file string, heard func()) {
	ticker := time.NewTicker(lookForInterruption)
	defer ticker.Stop()
	for file != "" {
		content, err := os.ReadFile(file)
		if err == nil {
			var said HostInterruption
			left := UsualTimeToSave // also where the file makes no sense: it is there
			if json.Unmarshal(content, &said) == nil && !said.Deadline.IsZero() {
				left = TimeToSave(time.Until(said.Deadline))
			}
			h.until = time.Now().Add(left)
			close(h.heard)
			heard()
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
