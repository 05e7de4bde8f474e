package reviewos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/plainjson"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// The paths of ReviewOS.
const (
	MetricsPath  = "/api/metrics"
	FleetPath    = "/api/instance/fleet"
	RegisterPath = "/api/runner/register"
	DownloadPath = "/api/runner/download"
)

// Token gives a token; it is asked for at every call and kept nowhere.
type Token func(context.Context) (string, error)

// Config is what a Client is made of. All of it is required.
type Config struct {
	URL string
	// Fleet is a pool maintainer's token, for everything about runners; Metrics
	// only reads the metrics.
	Fleet, Metrics Token
	// Queues are those that the file maps.
	Queues []fleet.SchedulerQueue
	Clock  func() time.Time
}

// Client is a ReviewOS instance as a scheduler. It lists no runners, and takes no
// stop back.
type Client struct {
	Config
	http *http.Client

	mu     sync.Mutex
	trends map[trendKey]*trend
	paused pauses
}

var (
	_ scheduler.Scheduler = (*Client)(nil)
	_ scheduler.Remover   = (*Client)(nil)
)

// maxAnswerBytes bounds an answer.
const maxAnswerBytes = 8 << 20

// New makes a client.
func New(c Config) *Client {
	c.URL = strings.TrimSuffix(c.URL, "/")
	return &Client{Config: c, http: scheduler.NewHTTPClient(), trends: map[trendKey]*trend{}}
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// StatusError is an unsuccessful answer.
type StatusError struct {
	Doing  string
	Status int
	// Said is the answer in one line.
	Said string
}

func (e *StatusError) Error() string { return fmt.Sprintf("%s: ReviewOS answered %s", e.Doing, e.Said) }

// fleetCall sends one operation of the fleet.
func (c *Client) fleetCall(ctx context.Context, doing string, body, out any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s: encode the request: %w", doing, err)
	}
	answer, err := c.send(ctx, doing, http.MethodPost, FleetPath, c.Fleet, content, nil)
	if err != nil {
		return refusal(err)
	}
	if out == nil {
		return nil
	}
	return understand(doing, http.MethodPost, FleetPath, answer, out)
}

// understand decodes the answer of a call.
func understand(doing, method, path string, answer []byte, out any) error {
	if err := plainjson.Read(answer, out); err != nil {
		return &scheduler.NonsenseError{Doing: doing, Err: fmt.Errorf("%s %s: %w", method, path, err)}
	}
	return nil
}

// send makes one call and returns the bytes of its success.
func (c *Client) send(
	ctx context.Context,
	doing, method, path string,
	token Token,
	content []byte,
	header http.Header,
) ([]byte, error) {
	secret, err := token(ctx)
	if err != nil {
		return nil, &scheduler.NotSentError{Err: fmt.Errorf("%s: the token: %w", doing, err)}
	}
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(content))
	if err != nil {
		return nil, &scheduler.NotSentError{Err: fmt.Errorf("%s: %w", doing, err)}
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	response, err := c.http.Do(request)
	if err != nil {
		if inURL := (*url.Error)(nil); errors.As(err, &inURL) {
			err = inURL.Err // the URL is in what it says already
		}
		err = fmt.Errorf("%s: %s %s: %w", doing, method, c.URL+path, err)
		if !sent.Load() {
			return nil, &scheduler.NotSentError{Err: err}
		}
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: read the answer of %s: %w", doing, c.URL, err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, &StatusError{Doing: doing, Status: response.StatusCode, Said: said(response, answer)}
	}
	if len(answer) > maxAnswerBytes {
		return nil, &scheduler.NonsenseError{Doing: doing, Err: fmt.Errorf("it has more than %d bytes", maxAnswerBytes)}
	}
	return answer, nil
}

// said is an unsuccessful answer in one line.
func said(response *http.Response, answer []byte) string {
	words := struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}{}
	_ = json.Unmarshal(answer, &words) // it needn't say anything
	text := scheduler.StatusWords(response)
	for _, more := range []string{words.Error, words.Message} {
		if more != "" {
			return text + ": " + scheduler.Printable(more)
		}
	}
	return text
}

// refusal makes a certain no of an answer that says that nothing was done.
func refusal(err error) error {
	answer := (*StatusError)(nil)
	if !errors.As(err, &answer) {
		return err
	}
	switch answer.Status {
	case http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("%w (%w)", scheduler.ErrUnknownRunner, err)
	case http.StatusUnauthorized, http.StatusForbidden:
		return &scheduler.RefusedError{
			Doing:  answer.Doing,
			Answer: answer.Said,
			Advice: "The token must be a pool maintainer's, for the pool that the queue is in.",
		}
	case http.StatusTooManyRequests:
		return &scheduler.RefusedError{
			Doing:  answer.Doing,
			Answer: answer.Said,
			Advice: "It has had enough calls, or runners, for now: try again later.",
		}
	case http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity:
		return &scheduler.RefusedError{
			Doing:  answer.Doing,
			Answer: answer.Said,
			Advice: "Compare what the file says of its queues with those of the instance.",
		}
	}
	return err
}
