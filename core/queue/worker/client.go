package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/plainjson"
)

// queue is the queue as a worker calls it.
type queue struct {
	base, runner, token string
	http                *http.Client
}

const (
	maxAnswerBytes = 1 << 20
	// answerTime is how long an answer may take beyond what it may wait.
	answerTime = 15 * time.Second
)

func newQueue(base, runner, token string) *queue {
	return &queue{base: strings.TrimSuffix(base, "/"), runner: runner, token: token, http: &http.Client{
		Transport: &http.Transport{
			Proxy:       http.ProxyFromEnvironment,
			DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 4,
		},
		// A redirect would carry the token to somewhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (q *queue) close() { q.http.CloseIdleConnections() }

// lease asks for a job; nil: there was none.
func (q *queue) lease(ctx context.Context, id string, request LeaseRequest, wait time.Duration) (*Lease, error) {
	var lease Lease
	if err := q.call(ctx, http.MethodPut, LeasePath, id, wait, request, &lease); err != nil {
		return nil, err
	}
	if lease.Job == "" {
		return nil, nil
	}
	if len(lease.Command) == 0 {
		return nil, errors.New("the queue gave a job without a command")
	}
	return &lease, nil
}

func (q *queue) giveBack(ctx context.Context, id string) error {
	return q.call(ctx, http.MethodDelete, LeasePath, id, 0, nil, nil)
}

func (q *queue) renew(
	ctx context.Context,
	id string,
	request RenewRequest,
	wait time.Duration,
) (orders Orders, err error) {
	return orders, q.call(ctx, http.MethodPost, RenewPath, id, wait, request, &orders)
}

func (q *queue) finish(ctx context.Context, id string, result Result) error {
	return q.call(ctx, http.MethodPost, FinishPath, id, 0, result, nil)
}

// The refusals on which a worker decides, by their status.
const (
	unknown = http.StatusNotFound // the runner isn't admitted there
	void    = http.StatusGone     // the lease isn't this worker's any more
)

// refusedError is the queue's certain no. Whatever else goes wrong may be the
// loss of a good answer.
type refusedError struct {
	status int
	text   string
}

func (e *refusedError) Error() string { return "the queue refused: " + e.text }

func isRefusal(err error) bool {
	refused := (*refusedError)(nil)
	return errors.As(err, &refused)
}

func isRefused(err error, status int) bool {
	refused := (*refusedError)(nil)
	return errors.As(err, &refused) && refused.status == status
}

func (q *queue) call(ctx context.Context, method, path, id string, wait time.Duration, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, wait+answerTime)
	defer cancel()
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode a call: %w", err)
	}
	if body == nil {
		content = nil
	}
	address := q.base + fmt.Sprintf(path, url.PathEscape(q.runner), url.PathEscape(id))
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+q.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := q.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return fmt.Errorf("read the answer to %s %s: %w", method, address, err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return problemOf(response, answer)
	}
	if out == nil || response.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := plainjson.Read(answer, out); err != nil {
		return fmt.Errorf("the answer to %s %s makes no sense: %w", method, address, err)
	}
	return nil
}

// problemOf tells the queue's own refusals from trouble on the way: a proxy's
// page is none, and what can get better by itself is none either.
func problemOf(response *http.Response, answer []byte) error {
	var problem struct {
		Detail string `json:"detail"`
	}
	own := strings.HasPrefix(response.Header.Get("Content-Type"), "application/problem+json") &&
		json.Unmarshal(answer, &problem) == nil
	status := response.StatusCode
	if own && status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout {
		return &refusedError{status, fmt.Sprintf("%s: %.300s", response.Status, problem.Detail)}
	}
	return fmt.Errorf("the queue answered %s", response.Status)
}
