package api

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
)

// fanOut passes progress to everyone who watches, as a manager does: each has its own
// queue, and a slow one loses nothing.
type fanOut struct {
	*service
	mu       sync.Mutex
	watchers map[chan progress.Progress]bool
	came     chan struct{} // one for each that came
	cut      chan struct{} // closed: all are cut off
}

func newFanOut() *fanOut {
	return &fanOut{
		service:  lab(),
		watchers: map[chan progress.Progress]bool{},
		came:     make(chan struct{}, 1000),
		cut:      make(chan struct{}),
	}
}

func (l *fanOut) Watch(ctx context.Context) iter.Seq2[progress.Progress, error] {
	l.note(ctx)
	return func(yield func(progress.Progress, error) bool) {
		mine := make(chan progress.Progress, 1000)
		l.mu.Lock()
		l.watchers[mine] = true
		l.mu.Unlock()
		l.came <- struct{}{}
		defer func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			delete(l.watchers, mine)
		}()
		for {
			select {
			case p := <-mine:
				if !yield(p, nil) {
					return
				}
			case <-l.cut:
				yield(progress.Progress{}, &access.ConflictError{Reason: "another manager took over"})
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

func (l *fanOut) step(serial int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.watchers {
		w <- progress.Progress{At: now, Serial: serial}
	}
}

func (l *fanOut) watching() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.watchers)
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline, tick := time.After(10*time.Second), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

func TestEveryWatcherHearsEveryStepInItsOrder(t *testing.T) {
	const watchers, steps = 12, 50
	l := newFanOut()
	h := handler(l, tokens{secret: everything})
	clients := []*Client{dial(t, onSocket(t, h)), dial(t, onTLS(t, handler(l, tokens{secret: everything}), secret))}
	var wait sync.WaitGroup
	for n := range watchers {
		wait.Go(func() {
			next := int64(1)
			for p, err := range clients[n%2].Watch(t.Context()) {
				if err != nil || p.Serial != next {
					t.Errorf("watcher %d heard %d, %v; want %d", n, p.Serial, err, next)
					return
				}
				if next++; next > steps {
					return
				}
			}
		})
	}
	for range watchers {
		<-l.came
	}
	for n := range int64(steps) {
		l.step(n + 1)
	}
	wait.Wait()
	until(t, "no one watches", func() bool { return l.watching() == 0 })
}

func TestAWatchEndsWithTheReasonForWhichItsServiceCutItOff(t *testing.T) {
	l := newFanOut()
	c := dial(t, onSocket(t, handler(l, nil)))
	close(l.cut)
	for _, err := range c.Watch(t.Context()) {
		if taken, ok := errors.AsType[*access.ConflictError](err); !ok || taken.Reason != "another manager took over" {
			t.Errorf("got %v", err)
		}
	}
}

// stream opens the raw stream.
func stream(t *testing.T, c *Client) *bufio.Reader {
	t.Helper()
	response, err := c.send(t.Context(), call{method: http.MethodGet, path: "/v1/events"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("the stream is %s", kind)
	}
	return bufio.NewReader(response.Body)
}

// hears reads lines up to one that begins so.
func hears(t *testing.T, from *bufio.Reader, start string) string {
	t.Helper()
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			t.Fatalf("no line %q: %v", start, err)
		}
		if strings.HasPrefix(line, start) {
			return strings.TrimSpace(line)
		}
	}
}

func TestAStreamHasRetryIdsAndHeartbeats(t *testing.T) {
	l := newFanOut()
	h := handler(l, nil)
	h.heartbeat = time.Millisecond
	lines := stream(t, dial(t, onSocket(t, h)))
	hears(t, lines, "retry: 2000")
	hears(t, lines, ": ")
	<-l.came
	for n := range int64(2) {
		l.step(n + 1)
	}
	if name := l.caller.Name; name == "" {
		t.Error("the service doesn't hear who watches")
	}
	for _, want := range []string{"id: 1", "event: progress", `data: {"at":`, "id: 2"} {
		hears(t, lines, want)
	}
}

func TestAStreamEndsSoonAfterItsTokenDid(t *testing.T) {
	l := newFanOut()
	var revoked atomic.Bool
	h := handler(l, nil)
	h.heartbeat = time.Millisecond
	h.config.Authenticate = func(context.Context, string) (access.Caller, error) {
		if revoked.Load() {
			return access.Caller{}, access.ErrUnauthenticated
		}
		return everything, nil
	}
	c := dial(t, onTLS(t, h, secret))
	go func() {
		<-l.came
		revoked.Store(true)
	}()
	var last error
	for _, err := range c.Watch(t.Context()) {
		last = err
	}
	if !errors.Is(last, access.ErrUnauthenticated) {
		t.Errorf("got %v", last)
	}
}

func TestAShutDownEndsStreamsAndSaysSo(t *testing.T) {
	l := newFanOut()
	h := handler(l, nil)
	c := dial(t, onSocket(t, h))
	go func() {
		<-l.came
		h.endStreams()
	}()
	var last error
	for _, err := range c.Watch(t.Context()) {
		last = err
	}
	if p, ok := errors.AsType[*Problem](last); !ok || p.Code != codeEnding {
		t.Errorf("got %v", last)
	}
	until(t, "no one watches", func() bool { return l.watching() == 0 })
}

func TestStreamsAreBounded(t *testing.T) {
	h := handler(newFanOut(), tokens{secret: everything})
	for range maxStreams {
		h.streams <- struct{}{}
	}
	w := answerTo(h, ask("GET", "/v1/events", ""))
	wantProblem(t, operation{path: "/v1/events"}, "too many", w, http.StatusServiceUnavailable, codeBusy)
}

func TestAStreamThatPanicsBreaksOffRatherThanSeemToEnd(t *testing.T) {
	h := handler(lab(), tokens{secret: everything})
	h.mux.HandleFunc("/break", func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		panic("x")
	})
	defer func() {
		if reason := recover(); reason != http.ErrAbortHandler {
			t.Errorf("the server sees %v", reason)
		}
	}()
	h.ServeHTTP(httptest.NewRecorder(), ask("GET", "/break", ""))
}

func TestEventsAreReadWhateverTheirLineEndsAndComments(t *testing.T) {
	text := ": hello\r\n\r\nid: 1\r\nevent: progress\r\ndata: {\"a\":\r\ndata:1}\r\n\r\nevent:x\ndata: 2\n\nevent: " +
		"lost\n\ndata: unfinished"
	var got []string
	err := readEvents(bufio.NewReaderSize(strings.NewReader(text), 16), func() {}, func(name string, data []byte) error {
		got = append(got, name+"="+string(data))
		return nil
	})
	if want := `progress={"a":1}|x=2`; strings.Join(got, "|") != want || !errors.Is(err, io.EOF) {
		t.Errorf("got %q, %v", got, err)
	}
}
