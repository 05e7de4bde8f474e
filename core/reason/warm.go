package reason

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// KeepWarm: the fleet keeps idle runners ready beyond what jobs need.
type KeepWarm struct {
	Idle int `json:"idle"`
	// Schedule is whose number it is, and Until when that changes; "": the scaling
	// block's.
	Schedule string    `json:"schedule,omitempty"`
	Until    LocalTime `json:"until,omitzero"`
}

// Text implements Detail.
func (d KeepWarm) Text() string {
	until := ""
	if d.Until != (LocalTime{}) {
		until = " until " + d.Until.String()
	}
	return "keep " + idleRunners(d.Idle) + until + bySchedule(d.Schedule)
}

// WarmChanges: a schedule changes how many idle runners are kept.
type WarmChanges struct {
	At   LocalTime `json:"at"`
	Idle int       `json:"idle"`
	// Schedule is whose number that is; "": the scaling block's.
	Schedule string `json:"schedule,omitempty"`
}

// Text implements Detail.
func (d WarmChanges) Text() string {
	return fmt.Sprintf("keep %s from %s on%s", idleRunners(d.Idle), d.At, bySchedule(d.Schedule))
}

// ScheduleInvalid: a schedule can't be read, and has no effect.
type ScheduleInvalid struct {
	Schedule string `json:"schedule"`
}

// Text implements Detail.
func (d ScheduleInvalid) Text() string {
	return fmt.Sprintf("schedule %s is invalid and has no effect", text.Quote(d.Schedule))
}

func idleRunners(n int) string {
	if n == 0 {
		return "no idle runners"
	}
	return text.Plural(n, "idle runner")
}

func bySchedule(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (schedule %s)", text.Quote(name))
}

var warmReasons = []Detail{
	KeepWarm{Idle: 2, Schedule: "office", Until: LocalTime{exampleInstant, "Europe/Berlin", 3600}},
	WarmChanges{At: LocalTime{exampleInstant, "Europe/Berlin", 3600}, Idle: 1},
	ScheduleInvalid{"office"},
}
