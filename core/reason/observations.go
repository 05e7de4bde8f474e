package reason

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// NotInspectedYet: a provider was never inspected.
type NotInspectedYet struct{}

// Text implements Detail.
func (NotInspectedYet) Text() string { return "not inspected yet" }

// PluginDown: no plugin process answers for a provider.
type PluginDown struct {
	Message string `json:"message"`
}

// Text implements Detail.
func (d PluginDown) Text() string { return text.Clause(d.Message) }

// InspectionFailed: the last inspection of a provider failed.
type InspectionFailed struct {
	Message string `json:"message"`
}

// Text implements Detail.
func (d InspectionFailed) Text() string {
	return "the last inspection failed: " + text.Clause(d.Message)
}

// InspectionIncomplete: the last inspection of a provider wasn't complete.
type InspectionIncomplete struct{}

// Text implements Detail.
func (InspectionIncomplete) Text() string { return "the last inspection was not complete" }

// ResourcesVanished: most of a provider's resources are missing from its list at once, which
// isn't believed at first.
type ResourcesVanished struct {
	Missing int      `json:"missing"`
	Known   int      `json:"known"`
	After   Duration `json:"after"`
}

// Text implements Detail.
func (d ResourcesVanished) Text() string {
	return fmt.Sprintf("%d of %d known resources are missing from its list at once; accepted after %s", d.Missing, d.Known,
		d.After)
}

// RunnersSilentTogether: so many of a provider's runners fell silent at once that it may be
// the manager that doesn't hear them.
type RunnersSilentTogether struct {
	Silent  int `json:"silent"`
	Runners int `json:"runners"`
}

// Text implements Detail.
func (d RunnersSilentTogether) Text() string {
	return fmt.Sprintf(
		"%d of %d runners fell silent at once, so the manager itself may be unreachable",
		d.Silent,
		d.Runners,
	)
}

// BootstrapUnavailable: hosts of a fleet's platform couldn't enroll.
type BootstrapUnavailable struct {
	Message string `json:"message"`
}

// Text implements Detail.
func (d BootstrapUnavailable) Text() string { return text.Clause(d.Message) }

// SchedulerNotAnswered: a scheduler hasn't answered yet.
type SchedulerNotAnswered struct{}

// Text implements Detail.
func (SchedulerNotAnswered) Text() string { return "it has not answered yet" }

// SchedulerError: a scheduler answered with an error, or not at all.
type SchedulerError struct {
	Message string `json:"message"`
}

// Text implements Detail.
func (d SchedulerError) Text() string { return text.Clause(d.Message) }

// RevisionWentBack: a scheduler shows an older revision than before, as after a restore: it is
// told everything again.
type RevisionWentBack struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Text implements Detail.
func (d RevisionWentBack) Text() string {
	return fmt.Sprintf("its revision went back from %d to %d, and all runners are registered again", d.From, d.To)
}

// RunnerRemoved: an instance's scheduler has removed its runner.
type RunnerRemoved struct{}

// Text implements Detail.
func (RunnerRemoved) Text() string { return "its scheduler has removed the runner" }

// NoNewLease: an instance's scheduler gives it no new lease, and lists no runners.
type NoNewLease struct{}

// Text implements Detail.
func (NoNewLease) Text() string { return "its scheduler gives it no new lease" }

// RunnerUnknown: an instance's scheduler doesn't list its runner.
type RunnerUnknown struct {
	Revision int64 `json:"revision"`
}

// Text implements Detail.
func (d RunnerUnknown) Text() string {
	return fmt.Sprintf("its scheduler does not list the runner as of revision %d", d.Revision)
}

// RunnerWithoutLease: an instance's scheduler shows its runner cordoned and without a lease.
type RunnerWithoutLease struct {
	Revision int64 `json:"revision"`
}

// Text implements Detail.
func (d RunnerWithoutLease) Text() string {
	return fmt.Sprintf("its scheduler shows it cordoned and without a lease as of revision %d", d.Revision)
}

var observationReasons = []Detail{
	NotInspectedYet{},
	PluginDown{"the plugin exited with status 1"},
	InspectionFailed{"connection refused"},
	InspectionIncomplete{},
	ResourcesVanished{4, 5, Duration(15 * 60e9)},
	RunnersSilentTogether{4, 5},
	BootstrapUnavailable{"there is no agent for windows/arm64"},
	SchedulerNotAnswered{},
	SchedulerError{"connection refused"},
	RevisionWentBack{9, 3},
	RunnerRemoved{},
	NoNewLease{},
	RunnerUnknown{7},
	RunnerWithoutLease{7},
}
