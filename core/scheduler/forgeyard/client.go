package forgeyard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/plainjson"
	"github.com/forgeyard/forgeyard-fleet/core/problem"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// Client is a scheduler that speaks the forgeyard contract. It lists its runners,
// lets go of a cordon and wants to be told of ends.
type Client struct {
	base  string
	token func(context.Context) (string, error)
	clock func() time.Time
	http  *http.Client
}

var (
	_ scheduler.Scheduler    = (*Client)(nil)
	_ scheduler.RunnerLister = (*Client)(nil)
	_ scheduler.Uncordoner   = (*Client)(nil)
	_ scheduler.Remover      = (*Client)(nil)
)

// maxAnswerBytes bounds an answer: some 100,000 groups of jobs, far more than is
// read.
const maxAnswerBytes = 32 << 20

// New makes a client of the scheduler at the URL. The token is asked for at every
// call and kept nowhere.
func New(base string, token func(context.Context) (string, error), clock func() time.Time) *Client {
	return &Client{base: strings.TrimSuffix(base, "/"), token: token, clock: clock, http: scheduler.NewHTTPClient()}
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call sends one request and decodes the answer into out, where that isn't nil.
func (c *Client) call(ctx context.Context, doing, method, path string, body, out any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s: encode the request: %w", doing, err)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if body == nil {
		request.Body, request.ContentLength = http.NoBody, 0
	} else {
		request.Header.Set("Content-Type", "application/json")
	}
	token, err := c.token(ctx)
	if err != nil {
		return fmt.Errorf("%s: the scheduler's token: %w", doing, err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "application/json, application/problem+json")
	response, err := c.http.Do(request)
	if err != nil {
		if inURL := (*url.Error)(nil); errors.As(err, &inURL) {
			err = inURL.Err // the URL is in what it says already
		}
		return fmt.Errorf("%s: %s %s: %w", doing, method, c.base+path, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return fmt.Errorf("%s: read the answer of %s: %w", doing, c.base, err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return problemOf(doing, response, answer)
	}
	if len(answer) > maxAnswerBytes {
		return &scheduler.NonsenseError{Doing: doing, Err: fmt.Errorf("it has more than %d bytes", maxAnswerBytes)}
	}
	if out == nil {
		return nil
	}
	if err := plainjson.Read(answer, out); err != nil {
		return &scheduler.NonsenseError{Doing: doing, Err: fmt.Errorf("%s %s: %w", method, path, err)}
	}
	return nil
}

// problemOf turns an unsuccessful answer into an error. Only what can't get
// better by itself is a refusal.
func problemOf(doing string, response *http.Response, answer []byte) error {
	said := scheduler.StatusWords(response)
	refusal := problem.Problem{}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/problem+json") &&
		json.Unmarshal(answer, &refusal) == nil &&
		refusal.Detail != "" {
		said = fmt.Sprintf("%s: %s", said, scheduler.Printable(refusal.Detail))
	}
	switch response.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("%s: %w (%s)", doing, scheduler.ErrUnknownRunner, said)
	case http.StatusUnauthorized, http.StatusForbidden:
		return &scheduler.RefusedError{
			Doing:  doing,
			Answer: said,
			Advice: "Check the token of the scheduler block and what it may do there.",
		}
	case http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity:
		return &scheduler.RefusedError{
			Doing:  doing,
			Answer: said,
			Advice: "The scheduler doesn't take this runner as it is; see its log.",
		}
	}
	return fmt.Errorf("%s: the scheduler answered %s", doing, said)
}
