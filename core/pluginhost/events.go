//go:build unix

package pluginhost

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Notice is what a plugin announced about one instance.
type Notice struct {
	Instance fleet.ProviderInstanceRef
	// Notice is the zero value where the plugin only hints that something about the
	// instance has changed.
	Notice fleet.Notice
}

var noticeKinds = map[providerpb.WatchResponse_Kind]fleet.NoticeKind{
	providerpb.WatchResponse_KIND_INTERRUPTION: fleet.NoticeInterruption,
	providerpb.WatchResponse_KIND_REBALANCE:    fleet.NoticeRebalance,
	providerpb.WatchResponse_KIND_MAINTENANCE:  fleet.NoticeMaintenance,
}

// Watch hands on what the plugin announces, until the stream ends or ctx does. Only
// a plugin that names the service is asked. What handle doesn't take yet waits in
// the plugin.
func (p *Process) Watch(ctx context.Context, handle func(Notice)) error {
	request := &providerpb.WatchRequest{}
	if refusal := p.refusal(ctx, request); refusal != nil {
		return p.notSent("watch for notices", refusal)
	}
	err := stream(ctx, 0, providerpb.NewEventsClient(p.conn).Watch, request, func(w *providerpb.WatchResponse) {
		if ctx.Err() == nil {
			handle(noticeOf(w))
		}
	})
	if err != nil {
		return p.failed("watch for notices", err)
	}
	return errors.New(p.launch.title() + " has ended its stream of notices")
}

// Bounds of what is kept of a plugin's notice, in bytes.
const (
	maxEventID      = 200
	maxNoticeDetail = 300
	maxInstanceRef  = 2048
)

// noticeOf converts one event. What is unset or unknown to this version says no
// more than that something has changed. What names it is its id with what it says:
// an event whose deadline changes is another one.
func noticeOf(w *providerpb.WatchResponse) Notice {
	if len(w.GetInstanceId()) > maxInstanceRef {
		return Notice{} // no machine that is ours is called that
	}
	n := Notice{Instance: fleet.ProviderInstanceRef(w.GetInstanceId())}
	kind, known := noticeKinds[w.GetKind()]
	if !known || n.Instance == "" {
		return n
	}
	n.Notice = fleet.Notice{
		Kind:     kind,
		Deadline: timeOf(w.GetDeadline()),
		Detail:   bounded(pluginlog.Printable(w.GetDetail()), maxNoticeDetail),
	}
	n.Notice.ID = bounded(pluginlog.Printable(w.GetEventId()), maxEventID)
	if n.Notice.ID == "" {
		sum := digestOf(n)
		n.Notice.ID = hex.EncodeToString(sum[:8])
	}
	return n
}

// bounded is a copy: a part of a text keeps all of it in memory.
func bounded(text string, most int) string { return strings.Clone(text[:min(len(text), most)]) }

func digestOf(n Notice) [sha256.Size]byte {
	return sha256.Sum256(
		fmt.Appendf(nil, "%q %q %s %d", n.Notice.ID, n.Instance, n.Notice.Kind, n.Notice.Deadline.UnixNano()),
	)
}

// What a plugin may announce: so many at once, as when a whole zone is reclaimed,
// and then so many a second. A plugin that has more to say waits.
const (
	noticeBurst    = 1000
	noticesASecond = 100
	// mostKnown is how many events are remembered to know them again.
	mostKnown = 4096
	// betweenHints is the least time between two hints that are handed on.
	betweenHints = 500 * time.Millisecond
)

// announcements are what a provider's plugins announced so far. They outlive a
// process: the next one begins with what stands.
type announcements struct {
	known   map[[sha256.Size]byte]bool
	order   [][sha256.Size]byte // a ring
	next    int
	limiter *rate.Limiter // nil: none came yet
}

// remember notes an event that was handed on: the same one is not again.
func (a *announcements) remember(sum [sha256.Size]byte) {
	if a.known == nil {
		a.known = map[[sha256.Size]byte]bool{}
	}
	if len(a.order) < mostKnown {
		a.order = append(a.order, sum)
	} else {
		delete(a.known, a.order[a.next])
		a.order[a.next] = sum
		a.next = (a.next + 1) % mostKnown
	}
	a.known[sum] = true
}

// wait is how long the next notice has to wait.
func (a *announcements) wait(now time.Time) time.Duration {
	if a.limiter == nil {
		a.limiter = rate.NewLimiter(noticesASecond, noticeBurst)
	}
	return a.limiter.ReserveN(now, 1).DelayFrom(now)
}

// pauses between two streams of a process.
var watchDelays = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 15 * time.Second, time.Minute}

// watch keeps a process's notices coming until ctx ends. A stream that ends is
// begun again, later each time, unless it was of use for a while.
func (s *Supervisor) watch(ctx context.Context, process supervised) {
	hints := make(chan Notice, 1)
	ended := make(chan struct{})
	go func() { defer close(ended); s.handOnHints(ctx, hints) }()
	defer func() { <-ended }()
	for failures := 0; ctx.Err() == nil; failures++ {
		began := time.Now()
		err := process.Watch(ctx, func(n Notice) { s.announced(ctx, n, hints) })
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > watchDelays[len(watchDelays)-1] {
			failures = 0
		}
		if failures&(failures-1) == 0 {
			s.logger.Warn("the stream of notices has ended; it is begun again", "times", failures+1, "error", err)
		}
		pause(ctx, time.Duration(float64(watchDelays[min(failures, len(watchDelays)-1)])*(0.8+0.4*s.supervision.Jitter())))
	}
}

// announced hands a notice on, once. A plugin that floods is slowed down, and all
// of its hints together are one.
func (s *Supervisor) announced(ctx context.Context, n Notice, hints chan Notice) {
	if n.Notice.Kind == "" {
		select {
		case hints <- n:
		default: // one waits already
		}
		return
	}
	sum := digestOf(n)
	if s.announcements.known[sum] {
		return
	}
	if wait := s.announcements.wait(time.Now()); wait > 0 {
		pause(ctx, wait)
	}
	if ctx.Err() == nil {
		s.supervision.Noticed(ctx, n)
	}
	if ctx.Err() == nil { // else the next process has to say it again
		s.announcements.remember(sum)
	}
}

func (s *Supervisor) handOnHints(ctx context.Context, hints <-chan Notice) {
	for ctx.Err() == nil {
		select {
		case n := <-hints:
			s.supervision.Noticed(ctx, n)
			pause(ctx, betweenHints)
		case <-ctx.Done():
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(cmp.Or(d, time.Nanosecond))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
