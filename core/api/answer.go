package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/problem"
)

// answer holds a response back until it is whole: only then are its ETag and its
// status final, whatever panics or fails to encode on the way. A stream calls
// Flush, after which everything goes out as it is written.
type answer struct {
	to     http.ResponseWriter
	by     *http.ResponseController
	method string
	// unless is the request's If-None-Match.
	unless string
	status int
	body   bytes.Buffer
	direct bool
}

type answerKey struct{}

// writeTimeout is what a caller gets to take an answer, or a piece of a stream.
const writeTimeout = time.Minute

func newAnswer(w http.ResponseWriter, r *http.Request) *answer {
	return &answer{to: w, by: http.NewResponseController(w), method: r.Method, unless: r.Header.Get("If-None-Match")}
}

// requestIsRead lifts the deadline for reading. It would otherwise run out behind
// the request and end it, however long the service needs.
func requestIsRead(ctx context.Context) {
	if a, ok := ctx.Value(answerKey{}).(*answer); ok {
		_ = a.by.SetReadDeadline(time.Time{}) // a recorder has none to lift
	}
}

func (a *answer) Header() http.Header { return a.to.Header() }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.direct {
		a.due()
		return a.to.Write(b)
	}
	return a.body.Write(b)
}

// FlushError makes the answer a stream.
func (a *answer) FlushError() error {
	a.WriteHeader(http.StatusOK)
	if !a.direct {
		a.direct = true
		a.due()
		a.to.WriteHeader(a.status)
		if _, err := a.body.WriteTo(a.to); err != nil {
			return err
		}
	}
	return a.by.Flush()
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.to }

// due begins the time for a write. The connection's clock is the machine's.
func (a *answer) due() { _ = a.by.SetWriteDeadline(time.Now().Add(writeTimeout)) }

// begun says that something went out already.
func (a *answer) begun() bool { return a.direct }

// reset drops what was written so far, for another answer.
func (a *answer) reset() {
	a.status = 0
	a.body.Reset()
	clear(a.Header())
}

// finish sends what was held back.
func (a *answer) finish() error {
	// The next request on the connection begins without a deadline.
	defer func() { _ = a.by.SetWriteDeadline(time.Time{}) }()
	if a.direct {
		return nil
	}
	a.WriteHeader(http.StatusOK)
	if a.status >= 300 && !strings.HasPrefix(a.Header().Get("Content-Type"), "application/") {
		a.unrouted()
	}
	header := a.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	if a.status == http.StatusOK && (a.method == http.MethodGet || a.method == http.MethodHead) {
		header.Set("Cache-Control", "private, no-cache")
		sum := sha256.Sum256(a.body.Bytes())
		tag := `"` + hex.EncodeToString(sum[:16]) + `"`
		header.Set("ETag", tag)
		if matches(a.unless, tag) {
			a.status = http.StatusNotModified
			a.body.Reset()
			header.Del("Content-Type")
		}
	}
	a.due()
	a.to.WriteHeader(a.status)
	_, err := a.body.WriteTo(a.to)
	return err
}

// unrouted replaces what the multiplexer says in words of its own.
func (a *answer) unrouted() {
	status, allow := a.status, a.Header().Get("Allow")
	a.reset()
	p := failed(http.StatusNotFound, codeNotFound, "no such path; docs/http-api.md lists all routes")
	if status == http.StatusMethodNotAllowed {
		p = failed(status, codeMethod, "this path allows "+allow)
		a.Header().Set("Allow", allow)
	}
	problem.Write(a, p)
}

// matches says whether an If-None-Match names a tag.
func matches(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
			return true
		}
	}
	return false
}
