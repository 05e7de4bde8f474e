package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// Plan is installation.Service's.
func (c *Client) Plan(ctx context.Context, s plans.Submission) (plans.Plan, error) {
	var p plans.Plan
	err := c.call(ctx, call{method: http.MethodPost, path: "/v1/plan", send: complete(s), into: &p})
	return p, err
}

// Apply is installation.Service's. It isn't tried again by itself: planning again says
// whether it went through.
func (c *Client) Apply(ctx context.Context, s plans.Submission, approved plans.Approval) (plans.Receipt, error) {
	if approved.Fleets == nil {
		approved.Fleets = map[fleet.FleetAddress]int64{}
	}
	var r plans.Receipt
	err := c.call(
		ctx,
		call{method: http.MethodPost, path: "/v1/apply", send: ApplyRequest{complete(s), approved}, into: &r},
	)
	return r, err
}

// complete makes what Go leaves out of JSON as null what it means: nothing.
func complete(s plans.Submission) plans.Submission {
	s.Sources = withBytes(s.Sources)
	s.Variables.Files = withBytes(s.Variables.Files)
	return s
}

func withBytes(sources []config.Source) []config.Source {
	whole := make([]config.Source, 0, len(sources))
	for _, one := range sources {
		if one.Bytes == nil {
			one.Bytes = []byte{}
		}
		whole = append(whole, one)
	}
	return whole
}

// Fleets is installation.Service's.
func (c *Client) Fleets(ctx context.Context) ([]view.Fleet, error) {
	return items[view.Fleet](ctx, c, "/v1/fleets", nil)
}

// Instances is installation.Service's. It reads all pages.
func (c *Client) Instances(ctx context.Context) ([]view.Instance, error) {
	all := []view.Instance{}
	parameters := url.Values{"limit": {strconv.Itoa(maxPage)}}
	for {
		var page List[view.Instance]
		if err := c.call(
			ctx,
			call{method: http.MethodGet, path: "/v1/instances", query: parameters, into: &page},
		); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			return all, nil
		}
		parameters.Set("cursor", page.Next)
	}
}

// History is installation.Service's.
func (c *Client) History(ctx context.Context, q query.HistoryFilter) (query.History, error) {
	parameters := url.Values{"all": {"true"}}
	for name, value := range map[string]string{"fleet": q.Fleet, "state": string(q.State)} {
		if value != "" {
			parameters.Set(name, value)
		}
	}
	if q.Limit > 0 {
		parameters.Set("limit", strconv.Itoa(min(q.Limit, maxPage)))
	}
	if q.Before != "" {
		parameters.Set("cursor", cursorOf(position{ID: q.Before}))
	}
	var list List[view.Instance]
	if err := c.call(
		ctx,
		call{method: http.MethodGet, path: "/v1/instances", query: parameters, into: &list},
	); err != nil {
		return query.History{}, err
	}
	next, err := readCursor(list.Next)
	if err != nil {
		return query.History{}, fmt.Errorf("read the cursor of the manager at %s: %w; is it of another version?", c.at, err)
	}
	page := query.History{Instances: list.Items}
	if next != nil {
		page.Next = next.ID
	}
	return page, nil
}

// Instance is installation.Service's.
func (c *Client) Instance(ctx context.Context, id string) (view.Instance, error) {
	if id == "" {
		return view.Instance{}, &access.NotFoundError{}
	}
	var i view.Instance
	err := c.call(ctx, call{method: http.MethodGet, path: "/v1/instances/" + url.PathEscape(id), into: &i})
	return i, err
}

// Decisions is installation.Service's. With limit 0 it gives the newest 1000.
func (c *Client) Decisions(ctx context.Context, address fleet.FleetAddress, limit int) ([]fleet.Decision, error) {
	return items[fleet.Decision](ctx, c, "/v1/fleets/"+url.PathEscape(string(address))+"/decisions", newest(limit))
}

// Events is installation.Service's.
func (c *Client) Events(ctx context.Context, q query.EventFilter) ([]query.Event, error) {
	parameters := url.Values{}
	if q.Limit > 0 {
		parameters.Set("limit", strconv.Itoa(min(q.Limit, maxPage)))
	}
	if q.Fleet != "" {
		parameters.Set("fleet", q.Fleet)
	}
	if !q.Since.IsZero() {
		parameters.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	return items[query.Event](ctx, c, "/v1/events/past", parameters)
}

// CreateToken is installation.Service's. Parts of a second are lost.
func (c *Client) CreateToken(ctx context.Context, t access.NewToken) (access.Token, string, error) {
	if t.For < 0 || t.For > 0 && t.For < time.Second {
		return access.Token{}, "", &access.InvalidError{Reason: "a token must be good for a second or more"}
	}
	var made NewToken
	err := c.call(ctx, call{method: http.MethodPost, path: "/v1/tokens", into: &made, send: TokenRequest{
		Name:        t.Name,
		Permissions: append([]access.Permission{}, t.Permissions...),
		Fleets:      t.Fleets,
		ForSeconds:  int64(t.For / time.Second),
	}})
	return made.Token, made.Secret, err
}

// Tokens is installation.Service's.
func (c *Client) Tokens(ctx context.Context) ([]access.Token, error) {
	return items[access.Token](ctx, c, "/v1/tokens", nil)
}

// DeleteToken is installation.Service's.
func (c *Client) DeleteToken(ctx context.Context, idOrName string) error {
	if idOrName == "" {
		return &access.NotFoundError{Kind: "token"}
	}
	return c.call(ctx, call{method: http.MethodDelete, path: "/v1/tokens/" + url.PathEscape(idOrName)})
}

// Audit is installation.Service's. With limit 0 it gives the newest 1000.
func (c *Client) Audit(ctx context.Context, limit int) ([]access.AuditRecord, error) {
	return items[access.AuditRecord](ctx, c, "/v1/audit", newest(limit))
}

func newest(limit int) url.Values {
	if limit <= 0 || limit > maxPage {
		limit = maxPage
	}
	return url.Values{"limit": {strconv.Itoa(limit)}}
}

func items[T any](ctx context.Context, c *Client, path string, parameters url.Values) ([]T, error) {
	var list List[T]
	err := c.call(ctx, call{method: http.MethodGet, path: path, query: parameters, into: &list})
	return list.Items, err
}
