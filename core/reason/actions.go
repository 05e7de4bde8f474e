package reason

import (
	"fmt"
	"strings"
	"time"
)

// ScaleUp: instances start.
type ScaleUp struct {
	// From is how many instances the fleet has, To how many it should have.
	From int `json:"from"`
	To   int `json:"to"`
	// Because is what asks for so many, and Limit what keeps it from more.
	Because Reason `json:"because"`
	Limit   Reason `json:"limit,omitzero"`
	// Surge instances start for a rollout beyond To, and Base ones are made from what was
	// known good before.
	Surge    int   `json:"surge,omitempty"`
	Base     int   `json:"base,omitempty"`
	BaseMake Image `json:"base_make,omitzero"`
}

// Text implements Detail.
func (d ScaleUp) Text() string {
	said := fmt.Sprintf("scale up %d → %d: %s", d.From, d.To, d.Because.Text())
	if !d.Limit.IsZero() {
		said += "; " + d.Limit.Text()
	}
	if d.Surge > 0 {
		said += fmt.Sprintf("; %d more for the rollout", d.Surge)
	}
	if d.Base > 0 {
		said += fmt.Sprintf("; %d of them from %s, known good", d.Base, d.BaseMake.definition())
	}
	return said
}

// ScaleDown: an instance leaves that isn't needed.
type ScaleDown struct {
	// From is how many instances the fleet has, To how many it should have.
	From int `json:"from"`
	To   int `json:"to"`
	// Idle is for how long the instance had no job; left out: that doesn't count.
	Idle Duration `json:"idle,omitempty"`
	// Because is what makes To, and Limit what keeps it from being more.
	Because Reason `json:"because"`
	Limit   Reason `json:"limit,omitzero"`
}

// Text implements Detail.
func (d ScaleDown) Text() string {
	var parts []string
	if d.Idle > 0 {
		parts = append(parts, "idle for "+d.Idle.String())
	}
	if kept, ok := d.Because.Params.(RaisedToMin); ok { // it keeps the others, and ends none
		parts = append(parts, fmt.Sprintf("not needed beyond min = %d%s", kept.Min, kept.Override.bracket("override")))
	} else if !d.Because.IsZero() {
		parts = append(parts, d.Because.Text())
	}
	said := fmt.Sprintf("scale down %d → %d: %s", d.From, d.To, strings.Join(parts, ", "))
	if !d.Limit.IsZero() {
		said += "; " + d.Limit.Text()
	}
	return said
}

// NeededAgain: a draining instance stays after all, since it is needed and was only
// cordoned.
type NeededAgain struct {
	Desired int    `json:"desired"`
	Because Reason `json:"because"`
}

// Text implements Detail.
func (d NeededAgain) Text() string {
	return fmt.Sprintf("needed again, only cordoned so far: %s", d.Because.Text())
}

// MaxAge: an instance is older than max_age.
type MaxAge struct {
	MaxAge Duration `json:"max_age"`
}

// Text implements Detail.
func (d MaxAge) Text() string { return "older than max_age = " + d.MaxAge.String() }

// ReplaceOutdated: a rollout replaces an instance.
type ReplaceOutdated struct {
	Because Reason `json:"because"`
	// Outdated instances are left of those that are Ready.
	Outdated int  `json:"outdated"`
	Ready    int  `json:"ready"`
	Pace     Pace `json:"pace"`
}

// Text implements Detail.
func (d ReplaceOutdated) Text() string {
	return fmt.Sprintf("%s; %d of %d left to replace, %s", d.Because.Text(), d.Outdated, d.Ready, d.Pace.text())
}

// JoinCommandVoid: a join command would bring a host that isn't the fleet's any more.
type JoinCommandVoid struct {
	Because Reason `json:"because"`
}

// Text implements Detail.
func (d JoinCommandVoid) Text() string { return d.Because.Text() + "; the join command is void" }

// JoinRequested: a person asked for the command that joins a host.
type JoinRequested struct {
	By    string `json:"by"`
	Asset string `json:"asset"`
}

// Text implements Detail.
func (d JoinRequested) Text() string {
	return fmt.Sprintf("join command for asset %s requested by %s", d.Asset, d.By)
}

var actionReasons = []Detail{
	ScaleUp{To: 4, Because: Of(JobsQueued{12, 12}), Limit: Of(LimitedByMax{Max: 4})},
	ScaleDown{From: 4, Idle: Duration(3 * time.Second), Because: Of(NoJobsQueued{})},
	NeededAgain{3, Of(JobsQueued{12, 0})},
	MaxAge{Duration(24 * time.Hour)},
	ReplaceOutdated{Of(OtherImage{}), 3, 5, Pace{Surge: 1}},
	JoinRequested{"alice", "mac-7"},
	JoinCommandVoid{Of(FleetRemoved{})},
}
