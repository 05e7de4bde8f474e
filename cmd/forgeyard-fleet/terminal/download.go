package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
)

// Download shows on a terminal how a plugin comes: bytes and rate, in a line that
// changes in place. It is told from one goroutine.
type Download struct {
	Out io.Writer
	Now func() time.Time
	// Silent says that nothing is to be shown.
	Silent bool

	what  string
	began time.Time
	from  int64 // what was here already
	said  time.Time
	shown bool
}

// sayAgain is how often the line changes.
const sayAgain = 100 * time.Millisecond

// Observe is told how far a plugin has come.
func (f *Download) Observe(p pluginstore.Progress) {
	if f.Silent {
		return
	}
	now := f.Now()
	what := p.Plugin + " " + p.Version + " " + p.Platform
	if what != f.what {
		f.Clear()
		f.what, f.began, f.from, f.said = what, now, p.Done, time.Time{}
	}
	if now.Sub(f.said) < sayAgain && p.Done < p.Size {
		return
	}
	f.said = now
	fmt.Fprintf(f.Out, "\r\033[K%s", Printable(f.line(p, now)))
	f.shown = true
}

func (f *Download) line(p pluginstore.Progress, now time.Time) string {
	const width = 20
	done := 0
	if p.Size > 0 {
		done = int(width * p.Done / p.Size)
	}
	bar := strings.Repeat("▓", done) + strings.Repeat("░", width-done)
	rate := ""
	if passed := now.Sub(f.began).Seconds(); passed > 0 {
		rate = fmt.Sprintf("  %.1f MiB/s", float64(p.Done-f.from)/(1<<20)/passed)
	}
	return fmt.Sprintf("%s   %.1f / %.1f MiB  %s%s", f.what, float64(p.Done)/(1<<20), float64(p.Size)/(1<<20), bar, rate)
}

// Clear takes the line away.
func (f *Download) Clear() {
	if f.shown {
		fmt.Fprint(f.Out, "\r\033[K")
		f.shown = false
	}
}
