package reason

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// BeyondPolicy: the policy doesn't allow a fleet as it is, which the files don't mention any
// more: it keeps its last definition until they do, or remove it.
type BeyondPolicy struct {
	// Refused is what isn't allowed, as in "the region "us-east-1"".
	Refused string `json:"refused"`
}

// Text implements Detail.
func (d BeyondPolicy) Text() string {
	return "the policy does not allow " + d.Refused +
		"; the fleet keeps its last definition until the files declare it again or remove it"
}

// FreezeInForce: a person froze a fleet or a provider.
type FreezeInForce struct {
	// Fleet is its name, or Provider what is frozen of which it is.
	Fleet    string      `json:"fleet"`
	Provider string      `json:"provider,omitempty"`
	Decided  Attribution `json:"decided"`
	// ScaleUpOnly lets instances start and none leave.
	ScaleUpOnly bool `json:"scale_up_only,omitempty"`
}

// Text implements Detail.
func (d FreezeInForce) Text() string {
	what := ""
	if d.Provider != "" {
		what = "provider " + d.Provider + " "
	}
	effect := "no instance starts, drains or ends"
	if d.ScaleUpOnly {
		effect = "instances start, and none is removed for lack of jobs, age or a newer definition"
	}
	return fmt.Sprintf("%sfrozen by %s on %s%s: %s", what, d.Decided.By, text.Moment(d.Decided.At.Time()),
		text.Comment(d.Decided.Comment), effect)
}

// Commands implements commander.
func (d FreezeInForce) Commands() []Command {
	if d.Provider != "" {
		return []Command{command("clear it", "freeze", "--provider", d.Provider, "--clear")}
	}
	return []Command{command("clear it", "freeze", d.Fleet, "--clear")}
}

// QuarantineInForce: a person quarantined a fleet or its image.
type QuarantineInForce struct {
	Fleet string `json:"fleet"`
	// Image is the digest, where that is quarantined.
	Image   string      `json:"image,omitempty"`
	Decided Attribution `json:"decided"`
}

// Text implements Detail.
func (d QuarantineInForce) Text() string {
	what := ""
	if d.Image != "" {
		what = "image "
	}
	return fmt.Sprintf("%squarantined by %s on %s%s: its instances get no jobs and no new ones start",
		what, d.Decided.By, text.Moment(d.Decided.At.Time()), text.Comment(d.Decided.Comment))
}

// Commands implements commander.
func (d QuarantineInForce) Commands() []Command {
	if d.Image != "" {
		return []Command{command("clear it", "quarantine", d.Image, "--clear")}
	}
	return []Command{command("clear it", "quarantine", d.Fleet, "--clear")}
}

// ScaleInForce: a person set min, max or both for a time.
type ScaleInForce struct {
	Fleet string `json:"fleet"`
	// Min and Max count where HasMin and HasMax say so.
	Min     int         `json:"min,omitempty"`
	Max     int         `json:"max,omitempty"`
	HasMin  bool        `json:"has_min,omitempty"`
	HasMax  bool        `json:"has_max,omitempty"`
	Decided Attribution `json:"decided"`
}

// Text implements Detail.
func (d ScaleInForce) Text() string {
	what := fmt.Sprintf("min = %d and max = %d", d.Min, d.Max)
	switch {
	case !d.HasMax:
		what = fmt.Sprintf("min = %d", d.Min)
	case !d.HasMin:
		what = fmt.Sprintf("max = %d", d.Max)
	}
	return fmt.Sprintf("%s set by %s until %s%s", what, d.Decided.By, text.Moment(d.Decided.Until.Time()),
		text.Comment(d.Decided.Comment))
}

// Commands implements commander.
func (d ScaleInForce) Commands() []Command {
	return []Command{command("clear it", "scale", d.Fleet, "--clear")}
}

// CostOverrideInForce: a person raised or lifted a fleet's cost guardrails for a time.
type CostOverrideInForce struct {
	Fleet string `json:"fleet"`
	// MaxHourly and MaxDaily are what holds meanwhile; both "": nothing.
	MaxHourly string      `json:"max_hourly,omitempty"`
	MaxDaily  string      `json:"max_daily,omitempty"`
	Decided   Attribution `json:"decided"`
}

// Text implements Detail.
func (d CostOverrideInForce) Text() string {
	what := "no cost limits"
	switch {
	case d.MaxHourly != "" && d.MaxDaily != "":
		what = fmt.Sprintf("max_hourly = %s and max_daily = %s", d.MaxHourly, d.MaxDaily)
	case d.MaxHourly != "":
		what = "max_hourly = " + d.MaxHourly
	case d.MaxDaily != "":
		what = "max_daily = " + d.MaxDaily
	}
	return fmt.Sprintf("cost override by %s until %s%s: %s", d.Decided.By, text.Moment(d.Decided.Until.Time()),
		text.Comment(d.Decided.Comment), what)
}

// Commands implements commander.
func (d CostOverrideInForce) Commands() []Command {
	return []Command{command("clear it", "cost-override", d.Fleet, "--clear")}
}

// RollbackInForce: a person rolled a fleet back to another image than its file says.
type RollbackInForce struct {
	Fleet   string      `json:"fleet"`
	To      Image       `json:"to"`
	From    Image       `json:"from"`
	Decided Attribution `json:"decided"`
}

// Text implements Detail.
func (d RollbackInForce) Text() string {
	return fmt.Sprintf("rolled back by %s on %s%s: new instances boot %s, and the file says %s",
		d.Decided.By, text.Moment(d.Decided.At.Time()), text.Comment(d.Decided.Comment), d.To.text(), d.From.text())
}

// Commands implements commander.
func (d RollbackInForce) Commands() []Command {
	return []Command{command("use the file's image", "image", "rollout", d.Fleet, "--resume")}
}

// PinInForce: a person pinned an instance for a time.
type PinInForce struct {
	Instance string      `json:"instance"`
	Decided  Attribution `json:"decided"`
}

// Text implements Detail.
func (d PinInForce) Text() string {
	return fmt.Sprintf("instance %s pinned by %s until %s%s: no scale-down, max_age or rollout removes it",
		d.Instance, d.Decided.By, text.Moment(d.Decided.Until.Time()), text.Comment(d.Decided.Comment))
}

// Commands implements commander.
func (d PinInForce) Commands() []Command {
	return []Command{command("clear it", "pin", d.Instance, "--clear")}
}

// RolledBack: a person rolled fleets back from an image.
type RolledBack struct {
	Decided Attribution `json:"decided"`
}

// Text implements Detail.
func (d RolledBack) Text() string {
	return "rolled back by " + d.Decided.By + text.Comment(d.Decided.Comment)
}

var exampleDecided = Attribution{By: "alice", At: exampleInstant, Until: exampleInstant, Comment: "release week"}

var overrideReasons = []Detail{
	BeyondPolicy{`the region "us-east-1"`},
	FreezeInForce{Fleet: "linux", Decided: exampleDecided},
	QuarantineInForce{Fleet: "linux", Decided: exampleDecided},
	ScaleInForce{Fleet: "linux", Max: 9, HasMax: true, Decided: exampleDecided},
	CostOverrideInForce{Fleet: "linux", MaxHourly: "2 USD", Decided: exampleDecided},
	RollbackInForce{"linux", Image{Name: "ubuntu-22"}, exampleImage, exampleDecided},
	PinInForce{"01k9", exampleDecided},
	RolledBack{exampleDecided},
}
