package reason

import (
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// missing puts before a limit how many instances it keeps from starting.
func missing(n int, limit string) string {
	if n == 0 {
		return limit
	}
	return text.Plural(n, "instance") + " missing: " + limit
}

// above puts before a reason how many instances more than desired stay for it.
func above(n, desired int, why string) string {
	return fmt.Sprintf("%s above the desired %d: %s", text.Plural(n, "instance"), desired, why)
}

// NoScheduler: the fleet follows no scheduler, so no job asks for capacity.
type NoScheduler struct{}

// Text implements Detail.
func (NoScheduler) Text() string { return "no scheduler is connected" }

// DemandUnknown: it isn't known how many jobs are queued, so the fleet keeps what it has.
type DemandUnknown struct {
	Because Reason `json:"because"`
}

// Text implements Detail.
func (d DemandUnknown) Text() string {
	return d.Because.Text() + "; existing instances are kept"
}

// NoJobsQueued: no job waits for the fleet.
type NoJobsQueued struct {
	// Running jobs are counted where no one says on which runners they are, else the
	// runners that they are on.
	Running     int `json:"running,omitempty"`
	BusyRunners int `json:"busy_runners,omitempty"`
}

// Text implements Detail.
func (d NoJobsQueued) Text() string {
	switch {
	case d.Running > 0:
		return "no jobs queued, " + text.Plural(d.Running, "job") + " running"
	case d.BusyRunners > 0:
		return "no jobs queued, " + text.Plural(d.BusyRunners, "runner") + " busy"
	}
	return "no jobs queued"
}

// JobsQueued: jobs wait that the fleet can run.
type JobsQueued struct {
	Jobs int `json:"jobs"`
	// Runners is how many more they need beyond those that are there or coming.
	Runners int `json:"runners,omitempty"`
}

// Text implements Detail.
func (d JobsQueued) Text() string {
	if d.Runners == 0 {
		return text.Plural(d.Jobs, "job") + " queued, existing runners have room"
	}
	return text.Plural(d.Jobs, "job") + " queued, " + text.Plural(d.Runners, "more runner") + " needed"
}

// FleetRemoved: the file removes the fleet; every runner leaves after its job.
type FleetRemoved struct {
	Missing int `json:"missing,omitempty"`
}

// Text implements Detail.
func (d FleetRemoved) Text() string { return missing(d.Missing, "the fleet is being removed") }

// ReservedFor is how many instances a reservation has.
type ReservedFor struct {
	Reservation string `json:"reservation"`
	Instances   int    `json:"instances"`
}

func (f ReservedFor) text() string { return fmt.Sprintf("%d for %s", f.Instances, f.Reservation) }

// Reserved: reservations ask for so many of the fleet's instances.
type Reserved struct {
	Instances    int               `json:"instances"`
	Reservations List[ReservedFor] `json:"reservations"`
}

// Text implements Detail.
func (d Reserved) Text() string {
	return fmt.Sprintf("%s reserved (%s)", text.Plural(d.Instances, "instance"),
		strings.Join(d.Reservations.parts(ReservedFor.text), ", "))
}

// HostsJoined: a person joins the fleet's hosts, so it has what is joined.
type HostsJoined struct {
	Hosts int `json:"hosts"`
}

// Text implements Detail.
func (d HostsJoined) Text() string { return text.Plural(d.Hosts, "host") + " joined by hand" }

// HostsToJoin: min asks for more hosts than a person has joined.
type HostsToJoin struct {
	Min int `json:"min"`
}

// Text implements Detail.
func (d HostsToJoin) Text() string {
	return fmt.Sprintf("raised to min = %d: the missing hosts wait to be joined", d.Min)
}

// RaisedToMin: the fleet has no fewer instances than min.
type RaisedToMin struct {
	Min int `json:"min"`
	// Override is who set that min for a time; zero: it is the file's.
	Override Attribution `json:"override,omitzero"`
}

// Text implements Detail.
func (d RaisedToMin) Text() string {
	return fmt.Sprintf("raised to min = %d%s", d.Min, d.Override.bracket("override"))
}

// LimitedByMax: the fleet has no more instances than max, and everything counts that
// isn't proven gone.
type LimitedByMax struct {
	Missing int `json:"missing,omitempty"`
	Max     int `json:"max"`
	// Unproven instances count against max and are no capacity.
	Unproven int         `json:"unproven,omitempty"`
	Override Attribution `json:"override,omitzero"`
}

// Text implements Detail.
func (d LimitedByMax) Text() string {
	limit := fmt.Sprintf("limited by max = %d%s", d.Max, d.Override.bracket("override"))
	if d.Unproven > 0 {
		limit += fmt.Sprintf(", of which %s not proven gone", text.Plural(d.Unproven,
			"instance")+" "+text.Are(d.Unproven))
	}
	return missing(d.Missing, limit)
}

var sizeReasons = []Detail{
	NoScheduler{},
	DemandUnknown{Of(SchedulerUnreachable{Scheduler: "forgeyard.ci", Because: Of(SchedulerError{"connection refused"})})},
	NoJobsQueued{BusyRunners: 2},
	JobsQueued{Jobs: 12, Runners: 4},
	FleetRemoved{},
	Reserved{3, ListOf(ReservedFor{"reservation.release", 3})},
	HostsJoined{3},
	HostsToJoin{4},
	RaisedToMin{Min: 2},
	LimitedByMax{Max: 4, Override: Attribution{By: "alice", Until: exampleInstant, Comment: "release week"}},
}
