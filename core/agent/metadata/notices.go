package metadata

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/plainjson"
)

// Client asks one platform's metadata service.
type Client struct {
	Service
	http *transport
}

// Notice is what the host's platform announces about it.
type Notice struct {
	ID   string `json:"id"`
	Kind string `json:"kind"` // one of agentapi's
	// Deadline is when it happens, by the host's clock; zero: not announced.
	Deadline time.Time `json:"deadline,omitzero"`
	Detail   string    `json:"detail,omitempty"`
}

// Same says that both announce the same. A deadline that the agent derived from its own
// clock differs a little from one reading to the next.
func (n Notice) Same(other Notice) bool {
	d := n.Deadline.Sub(other.Deadline)
	return n.ID == other.ID && n.Kind == other.Kind && d.Abs() < 2*time.Second
}

// Notices is what the platform announces now. With an error it is only a part, and what
// was announced before and isn't in it may still stand.
func (m *Client) Notices(ctx context.Context, now time.Time) ([]Notice, error) {
	var all []Notice
	var failed error
	for _, read := range noticeReaders[m.Platform] {
		found, err := read(ctx, m.http, now)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("ask %s's metadata service at %s: %w", m.Platform, m.URL, err))
		}
		all = append(all, found...)
	}
	return all, failed
}

// noticeReaders ask for each kind of notice of a platform. Each is asked by
// itself: one that fails must not hide what another says.
var noticeReaders = map[string][]func(context.Context, *transport, time.Time) ([]Notice, error){
	"aws":   {awsInterruption, awsRebalance, awsMaintenance},
	"gcp":   {gcpPreempted, gcpMaintenance},
	"azure": {azureEvents},
}

// awsText reads a value of IMDSv2.
func awsText(ctx context.Context, c *transport, path string) (string, error) {
	text, err := awsWhole(ctx, c, "/latest/meta-data/"+path)
	return strings.TrimSpace(string(text)), err
}

// awsWhole reads a value of IMDSv2 byte for byte. The service wants a token that was
// asked for before.
func awsWhole(ctx context.Context, c *transport, path string) ([]byte, error) {
	for range 2 {
		if c.token == "" {
			token, _, err := c.ask(ctx, http.MethodPut, "/latest/api/token", "X-Aws-Ec2-Metadata-Token-Ttl-Seconds: 21600")
			if err != nil {
				return nil, fmt.Errorf("get a token: %w", err)
			}
			c.token = token
		}
		text, _, err := c.askWhole(ctx, http.MethodGet, path, "X-Aws-Ec2-Metadata-Token: "+c.token)
		if !errors.Is(err, errTokenExpired) {
			return text, err
		}
		c.token = ""
	}
	return nil, errTokenExpired
}

// awsJSON reads a value into an object; false: there is none.
func awsJSON(ctx context.Context, c *transport, path string, into any) (bool, error) {
	text, err := awsText(ctx, c, path)
	if errors.Is(err, errNotFound) {
		return false, nil
	}
	if err == nil {
		err = plainjson.Read([]byte(text), into)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}

// awsInterruption: a spot instance is stopped, hibernated or terminated at a time.
func awsInterruption(ctx context.Context, c *transport, _ time.Time) ([]Notice, error) {
	var action struct {
		Action string    `json:"action"`
		Time   time.Time `json:"time"`
	}
	found, err := awsJSON(ctx, c, "spot/instance-action", &action)
	if !found || err != nil {
		return nil, err
	}
	if action.Action == "" || action.Time.IsZero() {
		return nil, errors.New("spot/instance-action has no action or time")
	}
	return []Notice{
		{
			ID: "spot-" + action.Time.UTC().
				Format(time.RFC3339),
			Kind:     agentapi.NoticeInterruption,
			Deadline: action.Time,
			Detail:   "AWS spot: " + action.Action,
		},
	}, nil
}

func awsRebalance(ctx context.Context, c *transport, _ time.Time) ([]Notice, error) {
	var recommended struct {
		Time time.Time `json:"noticeTime"`
	}
	found, err := awsJSON(ctx, c, "events/recommendations/rebalance", &recommended)
	if !found || err != nil {
		return nil, err
	}
	if recommended.Time.IsZero() {
		return nil, errors.New("events/recommendations/rebalance has no time")
	}
	return []Notice{
		{
			ID:     "rebalance-" + recommended.Time.UTC().Format(time.RFC3339),
			Kind:   agentapi.NoticeRebalance,
			Detail: "AWS recommends to rebalance",
		},
	}, nil
}

// awsTime is how AWS writes the times of its own work.
const awsTime = "2 Jan 2006 15:04:05 MST"

func awsMaintenance(ctx context.Context, c *transport, _ time.Time) ([]Notice, error) {
	var events []struct {
		ID          string `json:"EventId"`
		Code        string `json:"Code"`
		State       string `json:"State"`
		NotBefore   string `json:"NotBefore"`
		Description string `json:"Description"`
	}
	if found, err := awsJSON(ctx, c, "events/maintenance/scheduled", &events); !found || err != nil {
		return nil, err
	}
	var out []Notice
	for _, e := range events {
		if e.State == "active" {
			at, _ := time.Parse(awsTime, e.NotBefore) // without a time it is announced all the same
			out = append(
				out,
				Notice{
					ID:       e.ID,
					Kind:     agentapi.NoticeMaintenance,
					Deadline: at.UTC(),
					Detail:   "AWS: " + e.Code + " " + e.Description,
				},
			)
		}
	}
	return out, nil
}

// gcpText reads a value, and believes it only from the service itself.
func gcpText(ctx context.Context, c *transport, path string) (string, error) {
	const mark = "Metadata-Flavor"
	text, header, err := c.ask(ctx, http.MethodGet, "/computeMetadata/v1/instance/"+path, mark+": Google")
	switch {
	case errors.Is(err, errNotFound):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("%s: %w", path, err)
	case header.Get(mark) != "Google":
		return "", fmt.Errorf("%s was not answered by Google's metadata service", path)
	}
	return text, nil
}

// gcpNotice is what Google Cloud leaves a preempted machine; it names no time.
const gcpNotice = 30 * time.Second

func gcpPreempted(ctx context.Context, c *transport, now time.Time) ([]Notice, error) {
	text, err := gcpText(ctx, c, "preempted")
	if text != "TRUE" || err != nil {
		return nil, err
	}
	return []Notice{
		{ID: "preempted", Kind: agentapi.NoticeInterruption, Deadline: now.Add(gcpNotice), Detail: "Google Cloud: preempted"},
	}, nil
}

// gcpMaintenance: a machine that is moved while it runs has nothing to fear.
func gcpMaintenance(ctx context.Context, c *transport, _ time.Time) ([]Notice, error) {
	text, err := gcpText(ctx, c, "maintenance-event")
	if text != "TERMINATE_ON_HOST_MAINTENANCE" || err != nil {
		return nil, err
	}
	return []Notice{{ID: "maintenance", Kind: agentapi.NoticeMaintenance, Detail: "Google Cloud: " + text}}, nil
}

// azureKinds are the scheduled events that end or restart a machine.
var azureKinds = map[string]string{
	"Preempt": agentapi.NoticeInterruption, "Terminate": agentapi.NoticeInterruption,
	"Reboot": agentapi.NoticeMaintenance, "Redeploy": agentapi.NoticeMaintenance,
}

// azureEvents are those of this machine: the document has those of its neighbours,
// too.
func azureEvents(ctx context.Context, c *transport, now time.Time) ([]Notice, error) {
	const header = "Metadata: true"
	text, _, err := c.ask(ctx, http.MethodGet, "/metadata/scheduledevents?api-version=2020-07-01", header)
	var document struct {
		Events []struct {
			ID          string   `json:"EventId"`
			Status      string   `json:"EventStatus"`
			Type        string   `json:"EventType"`
			Resources   []string `json:"Resources"`
			NotBefore   string   `json:"NotBefore"`
			Description string   `json:"Description"`
		} `json:"Events"`
	}
	if err == nil {
		err = plainjson.Read([]byte(text), &document)
	}
	if err != nil {
		return nil, fmt.Errorf("scheduledevents: %w", err)
	}
	if len(document.Events) == 0 {
		return nil, nil
	}
	name, _, err := c.ask(
		ctx,
		http.MethodGet,
		"/metadata/instance/compute/name?api-version=2021-02-01&format=text",
		header,
	)
	if err != nil {
		return nil, fmt.Errorf("this machine's name: %w", err)
	}
	var out []Notice
	for _, e := range document.Events {
		kind := azureKinds[e.Type]
		if kind == "" || !slices.Contains(e.Resources, name) {
			continue
		}
		at, _ := time.Parse(time.RFC1123, e.NotBefore)
		if e.Status == "Started" {
			at = now
		}
		out = append(out, Notice{ID: e.ID, Kind: kind, Deadline: at.UTC(), Detail: "Azure: " + e.Type + " " + e.Description})
	}
	return out, nil
}
