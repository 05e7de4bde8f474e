package reason

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// Image is an image by its name and declared digest; the zero value is none.
type Image struct {
	Name   string `json:"name,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// text names an image with the beginning of its digest, since a name may be another
// image's tomorrow.
func (i Image) text() string {
	const shown = len("sha256:") + 4
	switch {
	case i.Name == "":
		return "no image"
	case i.Digest == "":
		return "image " + i.Name
	}
	return fmt.Sprintf("image %s (%s…)", i.Name, i.Digest[:min(len(i.Digest), shown)])
}

// definition is what instances are made from: the image, or all that isn't one.
func (i Image) definition() string {
	if i.Name == "" {
		return "the previous definition"
	}
	return i.text()
}

// ImageText names an image with the beginning of its digest.
func ImageText(name, digest string) string { return Image{name, digest}.text() }

// RolloutTarget is what a rollout brings: an agent, an image, or another definition.
type RolloutTarget struct {
	Agent string `json:"agent,omitempty"`
	Image Image  `json:"image,omitzero"`
}

func (t RolloutTarget) text() string {
	switch {
	case t.Agent != "":
		return "rollout of agent " + t.Agent
	case t.Image.Name == "":
		return "rollout of the new definition"
	}
	return "rollout of " + t.Image.text()
}

// Pace is by how many instances a fleet may differ from its desired number while it is
// replaced.
type Pace struct {
	Surge       int `json:"surge,omitempty"`
	Unavailable int `json:"unavailable,omitempty"`
}

func (p Pace) text() string {
	switch {
	case p.Surge == 0 && p.Unavailable == 1:
		return "one at a time"
	case p.Surge == 0:
		return fmt.Sprintf("at most %d unavailable", p.Unavailable)
	case p.Unavailable == 0:
		return fmt.Sprintf("at most %d extra", p.Surge)
	}
	return fmt.Sprintf("at most %d extra and %d unavailable", p.Surge, p.Unavailable)
}

// Progress is how many instances a rollout has left to replace.
type Progress struct {
	Outdated int `json:"outdated"`
	Total    int `json:"total"`
}

func (p Progress) text() string { return fmt.Sprintf("%d of %d left", p.Outdated, p.Total) }

// RolloutBegins: something else is to be made than before.
type RolloutBegins struct {
	Target   RolloutTarget `json:"target"`
	Progress Progress      `json:"progress"`
}

// Text implements Detail.
func (d RolloutBegins) Text() string {
	return fmt.Sprintf("%s begins: %d of %d outdated", d.Target.text(), d.Progress.Outdated, d.Progress.Total)
}

// RolloutRolling: outdated instances are replaced.
type RolloutRolling struct {
	Target   RolloutTarget `json:"target"`
	Progress Progress      `json:"progress"`
	Pace     Pace          `json:"pace"`
}

// Text implements Detail.
func (d RolloutRolling) Text() string {
	return fmt.Sprintf("%s: %s, %s", d.Target.text(), d.Progress.text(), d.Pace.text())
}

// RolloutCanaries: a rollout's canaries aren't healthy yet.
type RolloutCanaries struct {
	Target   RolloutTarget `json:"target"`
	Healthy  int           `json:"healthy"`
	Canaries int           `json:"canaries"`
	Progress Progress      `json:"progress"`
}

// Text implements Detail.
func (d RolloutCanaries) Text() string {
	return fmt.Sprintf("%s: %d of %s healthy; %s", d.Target.text(), d.Healthy, canaries(d.Canaries), d.Progress.text())
}

// RolloutSoaks: a rollout's canaries are healthy, and have to be for the whole soak.
type RolloutSoaks struct {
	Target   RolloutTarget `json:"target"`
	Canaries int           `json:"canaries"`
	Passed   Duration      `json:"passed"`
	Soak     Duration      `json:"soak"`
	Progress Progress      `json:"progress"`
}

// Text implements Detail.
func (d RolloutSoaks) Text() string {
	return fmt.Sprintf("%s: %s healthy for %s; %s", d.Target.text(), canaries(d.Canaries),
		passed(d.Passed, d.Soak), d.Progress.text())
}

// RolloutSoaked: a rollout's canaries were healthy for the whole soak, so the other
// instances follow.
type RolloutSoaked struct {
	Target   RolloutTarget `json:"target"`
	Canaries int           `json:"canaries"`
	Soak     Duration      `json:"soak"`
}

// Text implements Detail.
func (d RolloutSoaked) Text() string {
	return fmt.Sprintf("%s continues: %s healthy for %s", d.Target.text(), canaries(d.Canaries), d.Soak)
}

// Interim is what instances are made from that start while a rollout stands still.
type Interim struct {
	// Base is known good, and HasBase says that there is one; else there are Canaries of
	// the new ones at most.
	Base     Image `json:"base,omitzero"`
	HasBase  bool  `json:"has_base,omitempty"`
	Canaries int   `json:"canaries,omitempty"`
}

func (i Interim) text() string {
	if i.HasBase {
		return "new instances are made from " + i.Base.definition() + ", known good"
	}
	return fmt.Sprintf("at most %d of the new instances", i.Canaries)
}

// RolloutPaused: a person paused a rollout.
type RolloutPaused struct {
	Fleet    string        `json:"fleet"`
	Target   RolloutTarget `json:"target"`
	Paused   Attribution   `json:"paused"`
	Progress Progress      `json:"progress"`
	Interim  Interim       `json:"interim"`
}

// Text implements Detail.
func (d RolloutPaused) Text() string {
	return fmt.Sprintf("%s is paused by %s%s: %s; %s", d.Target.text(), d.Paused.By,
		text.Comment(d.Paused.Comment), d.Progress.text(), d.Interim.text())
}

// Commands implements commander.
func (d RolloutPaused) Commands() []Command { return rolloutCommands(d.Fleet, d.Target) }

// RolloutHalted: something went wrong with a new instance, so a rollout stands still until a
// person resumes it.
type RolloutHalted struct {
	Fleet   string        `json:"fleet"`
	Target  RolloutTarget `json:"target"`
	Because Reason        `json:"because"`
	// Progress and Interim are left out where a rollout was halted just now.
	Progress Progress `json:"progress,omitzero"`
	Interim  Interim  `json:"interim,omitzero"`
}

// Text implements Detail.
func (d RolloutHalted) Text() string {
	said := fmt.Sprintf("%s is halted: %s", d.Target.text(), d.Because.Text())
	if d.Progress == (Progress{}) {
		return said
	}
	return said + "; " + d.Progress.text() + "; " + d.Interim.text()
}

// Commands implements commander.
func (d RolloutHalted) Commands() []Command { return rolloutCommands(d.Fleet, d.Target) }

func rolloutCommands(fleet string, t RolloutTarget) []Command {
	all := []Command{command("resume", "image", "rollout", fleet, "--resume")}
	if t.Image.Name != "" {
		all = append(all, command("roll back", "image", "rollback", fleet))
	}
	return all
}

// NewInstanceFailed: one of a rollout's new instances failed.
type NewInstanceFailed struct {
	Instance string `json:"instance"`
	Because  Reason `json:"because"`
}

// Text implements Detail.
func (d NewInstanceFailed) Text() string {
	return fmt.Sprintf("new instance %s failed: %s", d.Instance, d.Because.Text())
}

// RolloutWaits: a rollout would start instances, and something keeps it from that now.
type RolloutWaits struct {
	Instances int    `json:"instances"`
	Because   Reason `json:"because"`
}

// Text implements Detail.
func (d RolloutWaits) Text() string {
	return fmt.Sprintf("the rollout waits to start %s: %s", text.Plural(d.Instances, "instance"), d.Because.Text())
}

func canaries(n int) string {
	if n == 1 {
		return "1 canary"
	}
	return fmt.Sprintf("%d canaries", n)
}

var (
	exampleImage  = Image{"ubuntu-24", "sha256:2c26b46b68ff"}
	exampleTarget = RolloutTarget{Image: exampleImage}
	exampleLeft   = Progress{3, 5}
)

var rolloutReasons = []Detail{
	RolloutBegins{exampleTarget, Progress{5, 5}},
	RolloutRolling{exampleTarget, exampleLeft, Pace{Surge: 1}},
	RolloutCanaries{exampleTarget, 0, 1, exampleLeft},
	RolloutSoaks{exampleTarget, 1, Duration(4 * minute), Duration(15 * minute), exampleLeft},
	RolloutSoaked{exampleTarget, 1, Duration(15 * minute)},
	RolloutPaused{"linux", exampleTarget, Attribution{By: "alice", Comment: "release week"}, exampleLeft,
		Interim{HasBase: true, Base: Image{Name: "ubuntu-22"}}},
	RolloutHalted{"linux", exampleTarget, Of(NewInstanceFailed{"01k9", Plain("no agent enrolled within 10m")}),
		exampleLeft, Interim{Canaries: 1}},
	NewInstanceFailed{"01k9", Plain("no agent enrolled within 10m")},
	RolloutWaits{1, Of(LimitedByMax{Max: 4})},
}
