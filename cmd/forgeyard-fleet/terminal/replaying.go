package terminal

import (
	"fmt"
	"io"
	"time"
)

// Replaying shows on a terminal how far a replay is, in a line that changes in
// place.
type Replaying struct {
	Out io.Writer
	Now func() time.Time
	// Directory is that of the fleet files.
	Directory string
	// Silent says that nothing is to be shown.
	Silent bool
	said   time.Time
	shown  bool
}

// Observe is told how many jobs of the trace have arrived.
func (r *Replaying) Observe(arrived, all int) {
	if r.Silent {
		return
	}
	now := r.Now()
	if r.said.IsZero() {
		r.said = now // what is quick needs no line
	}
	if now.Sub(r.said) < sayAgain {
		return
	}
	r.said, r.shown = now, true
	fmt.Fprintf(r.Out, "\r\033[K%s", Printable(fmt.Sprintf("%s: %d of %d jobs", r.Directory, arrived, all)))
}

// Clear takes the line away.
func (r *Replaying) Clear() {
	if r.shown {
		fmt.Fprint(r.Out, "\r\033[K")
		r.shown = false
	}
}
