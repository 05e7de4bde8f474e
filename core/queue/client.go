package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/plainjson"
	"github.com/forgeyard/forgeyard-fleet/core/problem"
)

// Client is what submitters call a queue by.
type Client struct {
	base, token string
	http        *http.Client
}

// NewClient makes a client of the queue at the URL.
func NewClient(base, token string) *Client {
	return &Client{base: strings.TrimSuffix(base, "/"), token: token, http: &http.Client{
		Timeout: 30 * time.Second,
		// A redirect would carry the token to somewhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Submit puts a job into the queue. After an error that isn't the queue's own
// refusal it is unknown whether it was stored.
func (c *Client) Submit(ctx context.Context, s Submission) (j Job, err error) {
	return j, c.call(ctx, "submit a job", "POST", "/v1/jobs", s, &j)
}

// Jobs lists all jobs.
func (c *Client) Jobs(ctx context.Context) (all Jobs, err error) {
	return all, c.call(ctx, "list the jobs", "GET", "/v1/jobs", nil, &all)
}

// Job shows one job.
func (c *Client) Job(ctx context.Context, id string) (j Job, err error) {
	return j, c.call(ctx, "look at the job "+id, "GET", "/v1/jobs/"+url.PathEscape(id), nil, &j)
}

// Cancel ends a job.
func (c *Client) Cancel(ctx context.Context, id string) (j Job, err error) {
	return j, c.call(ctx, "cancel the job "+id, "DELETE", "/v1/jobs/"+url.PathEscape(id), nil, &j)
}

// Tail is the end of a job's output.
func (c *Client) Tail(ctx context.Context, id string) (tail string, err error) {
	return tail, c.call(ctx, "read the output of the job "+id, "GET", "/v1/jobs/"+url.PathEscape(id)+"/log", nil, &tail)
}

const maxListBytes = 256 << 20

func (c *Client) call(ctx context.Context, doing, method, path string, body, out any) error {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxListBytes))
	if err != nil {
		return fmt.Errorf("%s: read the answer: %w", doing, err)
	}
	if response.StatusCode > 299 {
		var refusal problem.Problem
		if json.Unmarshal(answer, &refusal) != nil || refusal.Detail == "" {
			refusal.Detail = "answered " + response.Status
		}
		return fmt.Errorf("%s: the queue says: %s", doing, printable(refusal.Detail))
	}
	if text, isText := out.(*string); isText {
		*text = string(answer)
		return nil
	}
	if err := plainjson.Read(answer, out); err != nil {
		return fmt.Errorf("%s: the answer makes no sense: %w", doing, err)
	}
	return nil
}
