// Package announcement reads what EventBridge writes into a queue about machines. It
// knows nothing of the SDK, so that its tests don't compile it.
package announcement

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// Announcement is one message: what it says of each machine that it names.
type Announcement struct {
	Notices []provider.Notice
	// At is when the vendor said so.
	At time.Time
}

// NoticeOfSpot is how long after its warning a spot instance is taken away.
const NoticeOfSpot = 2 * time.Minute

// event is what all events have around their detail.
type event struct {
	ID     string          `json:"id"`
	Kind   string          `json:"detail-type"`
	Time   time.Time       `json:"time"`
	Detail json.RawMessage `json:"detail"`
}

// Read says what a message announces. The error is for what a rule of EventBridge
// that was made for this doesn't send.
func Read(message string) (Announcement, error) {
	var read event
	if err := json.Unmarshal([]byte(message), &read); err != nil {
		return Announcement{}, fmt.Errorf("it is not an EventBridge event: %w", err)
	}
	kinds := map[string]func(event) ([]provider.Notice, error){
		"EC2 Spot Instance Interruption Warning": interruption,
		"EC2 Instance Rebalance Recommendation":  rebalance,
		"EC2 Instance State-change Notification": stateChange,
		"AWS Health Event":                       maintenance,
	}
	of, known := kinds[read.Kind]
	if !known {
		return Announcement{}, fmt.Errorf("it is an event of the kind %.80q, which says nothing about machines", read.Kind)
	}
	notices, err := of(read)
	if err != nil {
		return Announcement{}, fmt.Errorf("read the event %.80q: %w", read.ID, err)
	}
	return Announcement{Notices: notices, At: read.Time}, nil
}

// machine is the detail of an event of EC2 itself.
type machine struct {
	Instance string `json:"instance-id"`
	Action   string `json:"instance-action"`
	State    string `json:"state"`
}

func machineOf(e event) (machine, error) {
	var detail machine
	if err := json.Unmarshal(e.Detail, &detail); err != nil {
		return machine{}, err
	}
	if detail.Instance == "" {
		return machine{}, errors.New("it names no instance")
	}
	return detail, nil
}

// interruption is of a spot machine that is taken away, or stopped, which for a
// machine of ours is the same: it isn't started again.
func interruption(e event) ([]provider.Notice, error) {
	detail, err := machineOf(e)
	if err == nil && e.Time.IsZero() {
		err = errors.New("it has no time")
	}
	return []provider.Notice{{ID: e.ID, Kind: provider.Interruption, Instance: detail.Instance,
		Deadline: e.Time.Add(NoticeOfSpot), Detail: "spot interruption: " + detail.Action}}, err
}

func rebalance(e event) ([]provider.Notice, error) {
	detail, err := machineOf(e)
	return []provider.Notice{
		{ID: e.ID, Kind: provider.Rebalance, Instance: detail.Instance, Detail: "rebalance recommendation"}}, err
}

func stateChange(e event) ([]provider.Notice, error) {
	detail, err := machineOf(e)
	return []provider.Notice{
		{ID: e.ID, Kind: provider.StateChange, Instance: detail.Instance, Detail: "it is " + detail.State}}, err
}

// health is the detail of an event of AWS Health.
type health struct {
	ARN      string `json:"eventArn"`
	Service  string `json:"service"`
	Code     string `json:"eventTypeCode"`
	Category string `json:"eventTypeCategory"`
	Start    string `json:"startTime"`
	Status   string `json:"statusCode"`
	Affected []struct {
		Value  string `json:"entityValue"`
		Status string `json:"status"`
	} `json:"affectedEntities"`
}

// maintenance is what AWS Health has scheduled for machines. An event that is over,
// and a machine that it is over for, says only that something has changed. Its name
// stays the same when the event is announced again.
func maintenance(e event) ([]provider.Notice, error) {
	var detail health
	if err := json.Unmarshal(e.Detail, &detail); err != nil {
		return nil, err
	}
	if detail.Service != "EC2" || detail.Category != "scheduledChange" || !strings.HasPrefix(detail.Code, "AWS_EC2_") {
		return nil, fmt.Errorf("it is %.80q of the category %.40q, and no change that is scheduled for machines",
			detail.Code, detail.Category)
	}
	begin, err := http.ParseTime(detail.Start)
	if err != nil {
		return nil, fmt.Errorf("read when it begins: %w", err)
	}
	var notices []provider.Notice
	for _, one := range detail.Affected {
		if !strings.HasPrefix(one.Value, settings.InstanceID) {
			continue
		}
		notice := provider.Notice{ID: detail.ARN, Kind: provider.Maintenance, Instance: one.Value, Deadline: begin,
			Detail: detail.Code}
		if detail.Status == "closed" || one.Status == "RESOLVED" {
			notice = provider.Notice{ID: e.ID, Kind: provider.StateChange, Instance: one.Value, Detail: detail.Code + " is over"}
		}
		if !slices.Contains(notices, notice) {
			notices = append(notices, notice)
		}
	}
	if len(notices) == 0 {
		return nil, fmt.Errorf("%s names no instance", detail.Code)
	}
	return notices, nil
}
