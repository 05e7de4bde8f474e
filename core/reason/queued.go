package reason

import (
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// NoEligibleFleet: jobs are queued that no fleet of the file could ever run.
type NoEligibleFleet struct {
	Jobs int `json:"jobs"`
	// Nearest is the fleet that came closest, and Because what it lacks; "": no fleet has
	// the scheduler.
	Nearest string `json:"nearest,omitempty"`
	Because Reason `json:"because,omitzero"`
}

// Text implements Detail.
func (d NoEligibleFleet) Text() string {
	said := text.Plural(d.Jobs, "queued job") + " that no fleet can run"
	if d.Nearest == "" {
		return said + ": no fleet has this scheduler"
	}
	return said + "; the nearest is " + d.Nearest + ": " + d.Because.Text()
}

// Commands implements commander.
func (d NoEligibleFleet) Commands() []Command {
	if d.Nearest == "" {
		return nil
	}
	return []Command{command("see why", "explain", d.Nearest)}
}

// NoCapacityNow: jobs are queued that fleets could run, which can't grow now.
type NoCapacityNow struct {
	Jobs    int    `json:"jobs"`
	Fleet   string `json:"fleet"`
	Because Reason `json:"because"`
}

// Text implements Detail.
func (d NoCapacityNow) Text() string {
	return fmt.Sprintf("%s without capacity: %s can't grow now, %s", text.Plural(d.Jobs, "queued job"),
		d.Fleet, d.Because.Text())
}

// RequirementUnknown: jobs require what this version doesn't understand.
type RequirementUnknown struct {
	Requirements List[string] `json:"requirements"`
}

// Text implements Detail.
func (d RequirementUnknown) Text() string {
	return fmt.Sprintf("the jobs require %s, which this version does not understand", quoted(d.Requirements))
}

// QueueUnmapped: no queue block says what the jobs of a queue need.
type QueueUnmapped struct {
	Queue string `json:"queue"`
}

// Text implements Detail.
func (d QueueUnmapped) Text() string {
	return fmt.Sprintf("no queue block of the scheduler maps the queue %s", text.Quote(d.Queue))
}

// QueueClassDiffers: the jobs of a queue need another capacity class.
type QueueClassDiffers struct {
	Queue    string `json:"queue"`
	Required string `json:"required"`
	Has      string `json:"has"`
}

// Text implements Detail.
func (d QueueClassDiffers) Text() string {
	return fmt.Sprintf("the queue %s is mapped to the class %s, and the fleet has %s", text.Quote(d.Queue),
		text.Quote(d.Required), text.Quote(d.Has))
}

// RequirementDiffers: jobs require another value of an attribute than the class has.
type RequirementDiffers struct {
	Attribute string `json:"attribute"`
	Required  string `json:"required"`
	// Has is "" where the class doesn't say.
	Has string `json:"has,omitempty"`
}

// Text implements Detail.
func (d RequirementDiffers) Text() string {
	if d.Has == "" {
		return fmt.Sprintf("the jobs require %s %q, and the class does not set it", d.Attribute, d.Required)
	}
	return fmt.Sprintf("the jobs require %s %q, and the class has %q", d.Attribute, d.Required, d.Has)
}

// RequirementMissing: jobs require capabilities or toolchains that the class lacks.
type RequirementMissing struct {
	Attribute string       `json:"attribute"`
	Missing   List[string] `json:"missing"`
}

// Text implements Detail.
func (d RequirementMissing) Text() string {
	return fmt.Sprintf("the jobs require the %s %s, which the class lacks", d.Attribute, quoted(d.Missing))
}

// SigningRequired: the jobs sign, and the class isn't for signing.
type SigningRequired struct{}

// Text implements Detail.
func (SigningRequired) Text() string { return "the jobs sign, and the class is not for signing" }

// SigningOnly: the class is for jobs that sign alone.
type SigningOnly struct{}

// Text implements Detail.
func (SigningOnly) Text() string { return "the class is for signing, and the jobs do not sign" }

// ConfidentialRequired: the jobs require confidential compute.
type ConfidentialRequired struct{}

// Text implements Detail.
func (ConfidentialRequired) Text() string {
	return "the jobs require confidential compute, which the class lacks"
}

// Resource is an amount of a resource of instances.
type Resource struct {
	// Name is cpu, memory, disk, gpu, or a name of the file.
	Name string `json:"name"`
	// Amount is in thousandths of a cpu, in bytes of memory and disk, else a number.
	Amount int64 `json:"amount"`
}

func (r Resource) text() string {
	switch r.Name {
	case "cpu":
		return fmt.Sprintf("%g cpu", float64(r.Amount)/1000)
	case "memory", "disk":
		return text.Bytes(r.Amount) + " of " + r.Name
	case "gpu":
		return fmt.Sprintf("%d gpu", r.Amount)
	}
	return fmt.Sprintf("%d of %s", r.Amount, text.Quote(r.Name))
}

// JobTooLarge: one job takes more of a resource than an instance has.
type JobTooLarge struct {
	Job Resource `json:"job"`
	// Has is the amount of an instance; 0: the class doesn't say.
	Has int64 `json:"has,omitempty"`
}

// Text implements Detail.
func (d JobTooLarge) Text() string {
	if d.Has == 0 {
		return fmt.Sprintf("one job takes %s, and the class does not set %s", d.Job.text(), d.Job.Name)
	}
	return fmt.Sprintf("one job takes %s, and an instance has %s", d.Job.text(), Resource{d.Job.Name, d.Has}.text())
}

// Scope is whose jobs a fleet runs, or whom a reservation is for: one of the two is set.
type Scope struct {
	Tenant  string `json:"tenant,omitempty"`
	Project string `json:"project,omitempty"`
}

func (s Scope) text() string {
	switch {
	case s.Tenant != "":
		return fmt.Sprintf("tenant %q", s.Tenant)
	case s.Project != "":
		return fmt.Sprintf("project %q", s.Project)
	}
	return "one tenant or project"
}

// OutOfScope: a fleet is for another tenant or project alone.
type OutOfScope struct {
	Scope
}

// Text implements Detail.
func (d OutOfScope) Text() string { return "the fleet is for " + d.text() + " only" }

// RegionsDiffer: jobs must stay in regions, and the fleet may use others.
type RegionsDiffer struct {
	Required List[string] `json:"required"`
	// Uses is a region that the fleet may use; "": any.
	Uses string `json:"uses,omitempty"`
}

// Text implements Detail.
func (d RegionsDiffer) Text() string {
	uses := "any region"
	if d.Uses != "" {
		uses = fmt.Sprintf("%q", d.Uses)
	}
	return fmt.Sprintf("the jobs must stay in %s, and the fleet may use %s", quoted(d.Required), uses)
}

// PreemptibleDisallowed: the provider may take the fleet's instances away, and the jobs don't
// allow that.
type PreemptibleDisallowed struct{}

// Text implements Detail.
func (PreemptibleDisallowed) Text() string {
	return "the fleet is preemptible, which the jobs do not allow"
}

// HostileIsolation: hostile jobs need an isolation that the class doesn't have.
type HostileIsolation struct {
	Required string `json:"required"`
	Has      string `json:"has,omitempty"`
}

// Text implements Detail.
func (d HostileIsolation) Text() string {
	has := "does not set one"
	if d.Has != "" {
		has = fmt.Sprintf("has %q", d.Has)
	}
	return fmt.Sprintf("the jobs are hostile and need the isolation %q, and the class %s", d.Required, has)
}

// NotEntitled: a class is limited by entitlements, and none is for the jobs.
type NotEntitled struct {
	Tenant  string `json:"tenant,omitempty"`
	Project string `json:"project,omitempty"`
	Class   string `json:"class"`
}

// Text implements Detail.
func (d NotEntitled) Text() string {
	class := fmt.Sprintf("entitled to the class %q", d.Class)
	switch {
	case d.Tenant != "" && d.Project != "":
		return fmt.Sprintf("neither the tenant %s nor the project %s is %s", text.Quote(d.Tenant),
			text.Quote(d.Project), class)
	case d.Tenant != "":
		return fmt.Sprintf("the tenant %s is not %s", text.Quote(d.Tenant), class)
	case d.Project != "":
		return fmt.Sprintf("the project %s is not %s", text.Quote(d.Project), class)
	}
	return fmt.Sprintf("the jobs have no tenant and no project that is %s", class)
}

// quoted are listed words in quotes.
func quoted(words List[string]) string {
	var parts []string
	for _, word := range words.Items() {
		parts = append(parts, text.Quote(word))
	}
	if words.more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", words.more))
	}
	return strings.Join(parts, ", ")
}

var queuedReasons = []Detail{
	NoEligibleFleet{3, "fleet.linux", Of(RequirementDiffers{"os", "windows", "linux"})},
	NoCapacityNow{3, "fleet.linux", Of(LimitedByMax{Max: 4})},
	RequirementUnknown{ListOf("kernel=6.1")},
	QueueUnmapped{"macos"},
	QueueClassDiffers{"macos", "mac", "linux"},
	RequirementDiffers{"os", "windows", "linux"},
	RequirementMissing{"toolchain", ListOf("xcode-26")},
	SigningRequired{},
	SigningOnly{},
	ConfidentialRequired{},
	JobTooLarge{Resource{"memory", 8 << 30}, 4 << 30},
	OutOfScope{Scope{Tenant: "mobile"}},
	RegionsDiffer{ListOf("eu-central-1"), "us-east-1"},
	PreemptibleDisallowed{},
	HostileIsolation{"vm", "container"},
	NotEntitled{Tenant: "mobile", Class: "mac"},
}
