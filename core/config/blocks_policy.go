package config

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// reservationBlock is a fleet.CapacityReservation (spec §98).
type reservationBlock struct {
	Name      string             `fleet:"-" label:"NAME" example:"release-1-0|benchmarks"`
	Class     string             `fleet:"capacity_class,required" refers:"capacity_class" example:"capacity_class.small" doc:"'capacity_class.NAME': what kind of instances."`
	Quantity  int                `fleet:"quantity,required" min:"1" max:"100000" example:"4|1" doc:"How many, from 1 to 100000. Reservations that overlap add up."`
	Start     time.Time          `fleet:"start,required" example:"2027-01-10T08:00:00Z|2027-02-01T09:00:00+01:00" doc:"When they must be ready: date, time and zone, such as '\"2027-01-10T08:00:00Z\"'."`
	End       time.Time          `fleet:"end,required" example:"2027-01-10T18:00:00Z|2027-02-05T18:00:00+01:00" doc:"When they are no longer needed."`
	LeadTime  time.Duration      `fleet:"lead_time" default:"0" example:"15m" doc:"How long before 'start' they are created."`
	Fleet     fleet.FleetAddress `fleet:"fleet" example:"fleet.demo" doc:"'fleet.NAME': the one that must have them. Left out: any of the class whose 'scope' is none, or that of the reservation."`
	Scope     *scopeBlock        `fleet:"scope,block" doc:"Who it is for."`
	Dedicated bool               `fleet:"dedicated" default:"false" example:"false" doc:"Only fleets whose 'scope' is that of the reservation may have them: there the scheduler keeps others' jobs away. Otherwise others' jobs may use them, too."`
}

// policyBlock is a fleet.InstallationPolicy (spec §175).
type policyBlock struct {
	Providers        []string           `fleet:"providers" list:"set" form:"filled" example:"[\"local\"]" doc:"Plugins, or 'PLUGIN.NAME' of provider blocks. Left out: any."`
	Regions          []string           `fleet:"regions" list:"set" form:"filled" example:"[\"eu-central-1\"]" doc:"Regions that 'placement.regions' may name. A fleet that names none is kept to these where its provider lists offers, and is an error where it doesn't: only you know where its instances are. Left out: any."`
	Lifetimes        []string           `fleet:"lifetimes" list:"set" oneof:"preemptible,stable" example:"[\"stable\"]" doc:"'\"stable\"', '\"preemptible\"'. Left out: both."`
	GPU              bool               `fleet:"gpu" default:"true" example:"false" doc:"Whether a class may have graphics processors."`
	HostileIsolation string             `fleet:"hostile_isolation" form:"word" example:"vm" doc:"The 'isolation' that a class needs before it may run hostile jobs: those that the scheduler marks so, or whose 'queue' block does. Isolations have no order: exactly this one is asked for. Left out: '\"vm\"'."`
	Entitlements     []entitlementBlock `fleet:"entitlement,block" doc:"Who may use a capacity class. A class that any entitlement names is only for the tenants and projects that one of them lists; a class that none names is for everybody. It only takes away: an entitled tenant or project still needs a fleet that meets all that the jobs require."`
}

// entitlementBlock is a fleet.Entitlement: who may use a capacity class (spec §173).
type entitlementBlock struct {
	Name     string   `fleet:"-" label:"NAME" example:"release-instances"`
	Class    string   `fleet:"capacity_class,required" refers:"capacity_class" example:"capacity_class.small" doc:"'capacity_class.NAME'."`
	Tenants  []string `fleet:"tenants" list:"set" form:"filled" example:"[\"acme\"]" doc:"Tenants whose jobs may use it. At least one tenant or project."`
	Projects []string `fleet:"projects" list:"set" form:"filled" example:"[\"acme/docs\", \"acme/web\"]" doc:"Projects whose jobs may use it."`
	Max      int      `fleet:"max" min:"1" max:"100000" example:"40" doc:"How many instances of the class there may be for them, whatever their state, from 1 to 100000. Several entitlements to a class add up; a fleet whose 'scope' is one tenant or project has only what is for that one. Which job runs on which instance is the scheduler's business: what one tenant may run at once is a quota there. Left out: no limit but the fleets' own."`
}
