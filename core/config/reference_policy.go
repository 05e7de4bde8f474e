package config

// fleetPolicyReference is the rest of a fleet: how fast, where, how and at what
// price.
var fleetPolicyReference = []ReferenceBlock{
	{
		Path: "fleet.scope",
		Doc:  "Whose jobs the fleet runs. Left out, or empty: the whole installation's.",
		Attributes: []ReferenceAttribute{
			{Name: "tenant", Type: TextValue, Doc: "The tenant that the fleet is for. Not together with `project`."},
			{Name: "project", Type: TextValue, Doc: "The project that the fleet is for."},
		},
	},
	{
		Path: "fleet.scaling.scale_up",
		Doc:  "How fast the fleet grows.",
		Attributes: []ReferenceAttribute{
			{Name: "max_step", Type: CountValue, Doc: "At most so many instances are started in each `window`, from 1 to 100000. Left out: no limit."},
			{Name: "window", Type: DurationValue, Default: `"1m"`, Doc: "At least `\"1s\"`."},
		},
	},
	{
		Path: "fleet.scaling.scale_down",
		Doc:  "How slowly a fleet that follows demand shrinks. One without a scheduler has a fixed size: what is above it leaves after its job.",
		Attributes: []ReferenceAttribute{
			{Name: "idle_grace", Type: DurationValue, Default: `"10m"`, Doc: "How long the scheduler must have shown a host without a job before it leaves, at least `\"1s\"`."},
			{Name: "cooldown", Type: DurationValue, Default: `"5m"`, Doc: "How long after the fleet last grew or shrank no host leaves."},
			{Name: "max_step", Type: CountValue, Doc: "At most so many leave at a time, from 1 to 100000. Left out: no limit."},
		},
	},
	{
		Path: "fleet.scaling.schedule", Labels: []string{"NAME"}, Repeated: true,
		Doc: "Keeps another number of hosts warm at times that are known. While it is open its `warm` counts in the place of the scaling block's, more or fewer; of several that are open the largest counts. A time that the zone's clock is put forward over begins then; one that comes twice begins the first time, and again only where `cron` begins in every hour.",
		Attributes: []ReferenceAttribute{
			{Name: "cron", Type: TextValue, Required: true, Doc: "When it begins, in five fields: minute, hour, day of the month, month, day of the week."},
			{Name: "duration", Type: DurationValue, Required: true, Doc: "How long it lasts in real time, at least `\"1m\"`. Windows that touch or overlap are one."},
			{Name: "warm", Type: CountValue, Required: true, Doc: "How many idle hosts to keep ready in that time, at most `max`."},
			{Name: "timezone", Type: TextValue, Default: `"UTC"`, Doc: "The zone of `cron`, such as `\"Europe/Berlin\"`."},
		},
	},
	{
		Path:   "fleet.placement",
		Doc:    "Where the hosts may be. It chooses among the offers of a provider that lists them.",
		NotYet: "The provider's plugin lists no offers: it alone decides where a host is made, and `regions` is compared with what jobs require.",
		Attributes: []ReferenceAttribute{
			{Name: "regions", Type: TextListValue, Default: "[]", Doc: "No host is made anywhere else. Empty: anywhere."},
			{Name: "zones", Type: TextListValue, Default: "[]", Doc: "The same for zones."},
			{Name: "spread", Type: TextValue, Default: `"none"`, Doc: "What a failure shouldn't take away whole: `\"none\"`, `\"zone\"`, `\"region\"` or `\"provider\"`, which has no effect yet."},
			{Name: "required", Type: BoolValue, Default: "false", Doc: "The spread is a rule and not a preference."},
		},
	},
	{
		Path:   "fleet.rollout",
		Doc:    "How hosts are replaced when what they should be changes.",
		NotYet: "They are replaced one at a time, each after its job.",
		Attributes: []ReferenceAttribute{
			{Name: "canary", Type: CountValue, Default: "1", Doc: "How many are replaced first."},
			{Name: "soak", Type: DurationValue, Default: `"15m"`, Doc: "How long these must be healthy before the others follow."},
			{Name: "surge", Type: CountValue, Default: "1", Doc: "How many more hosts than wanted there may be meanwhile. Not zero together with `unavailable`."},
			{Name: "unavailable", Type: CountValue, Default: "0", Doc: "How many fewer."},
		},
	},
	{
		Path:   "fleet.cost",
		Doc:    "What a host costs and what may be spent. All fleets of a class use one currency.",
		NotYet: "Nothing is counted and nothing is held back.",
		Attributes: []ReferenceAttribute{
			{Name: "hourly", Type: MoneyValue, Doc: "Price of a host for an hour, where the provider can't tell. It orders fleets, and offers without a price."},
			{Name: "minimum", Type: DurationValue, Doc: "The shortest time that is paid for, at least `\"1s\"`."},
			{Name: "max_hourly", Type: MoneyValue, Doc: "No host is started that would make an hour cost more. Left out: no limit."},
			{Name: "max_daily", Type: MoneyValue, Doc: "The same for a day."},
		},
	},
	{
		Path:   "fleet.forecast",
		Doc:    "Lets a model of demand ask for more than is waiting, never for less.",
		NotYet: "There is no model yet.",
		Attributes: []ReferenceAttribute{
			{Name: "model", Type: TextValue, Required: true, Doc: "The model's name as one word."},
			{Name: "version", Type: CountValue, Required: true, Doc: "The model's version, from 1 to 65535."},
		},
	},
}

// installationReference is what goes for all fleets.
var installationReference = []ReferenceBlock{
	{
		Path: "reservation", Labels: []string{"NAME"}, Repeated: true,
		Doc: "Capacity that is there for a time. It is no lease on a job: the scheduler still decides what runs, and waiting work uses what is reserved. It ends with its time, or with its block. Joined hosts and protected fleets can have none.",
		Attributes: []ReferenceAttribute{
			{Name: "capacity_class", Type: ClassReference, Required: true, Doc: "`capacity_class.NAME`: what kind of hosts."},
			{Name: "quantity", Type: CountValue, Required: true, Doc: "How many, from 1 to 100000. Reservations that overlap add up."},
			{Name: "start", Type: MomentValue, Required: true, Doc: "When they must be there: date, time and zone, such as `\"2027-01-10T08:00:00Z\"`."},
			{Name: "end", Type: MomentValue, Required: true, Doc: "When they needn't be there any more."},
			{Name: "lead_time", Type: DurationValue, Default: `"0"`, Doc: "How long before `start` they are made."},
			{Name: "fleet", Type: FleetReference, Doc: "`fleet.NAME`: the one that has to have them. Left out: any of the class whose `scope` is none, or that of the reservation."},
			{Name: "dedicated", Type: BoolValue, Default: "false", Doc: "Only fleets whose `scope` is that of the reservation may have them: there the scheduler keeps others' jobs away. Otherwise others' jobs may use them, too."},
		},
		Example: `reservation "release-1-0" {
  capacity_class = capacity_class.small
  quantity       = 4
  start          = "2027-01-10T08:00:00Z"
  end            = "2027-01-10T18:00:00Z"
  lead_time      = "15m"
  fleet          = fleet.demo
  dedicated      = false

  scope {
    tenant = "acme"
  }
}

reservation "benchmarks" {
  capacity_class = capacity_class.small
  quantity       = 1
  start          = "2027-02-01T09:00:00+01:00"
  end            = "2027-02-05T18:00:00+01:00"

  scope {
    project = "acme/kernel"
  }
}
`,
	},
	{
		Path: "reservation.scope",
		Doc:  "For whom it is.",
		Attributes: []ReferenceAttribute{
			{Name: "tenant", Type: TextValue, Doc: "The tenant. Not together with `project`."},
			{Name: "project", Type: TextValue, Doc: "The project."},
		},
	},
	{
		Path: "policy",
		Doc:  "What fleets may be declared at all. A fleet that isn't allowed is an error.",
		Attributes: []ReferenceAttribute{
			{Name: "providers", Type: TextListValue, Doc: "Plugins, or `PLUGIN.NAME` of provider blocks. Left out: any."},
			{Name: "regions", Type: TextListValue, Doc: "Regions that `placement.regions` may name. Left out: any.", NotYet: "Only `placement.regions` is compared with it; a fleet that names no region is not looked at."},
			{Name: "lifetimes", Type: TextListValue, Doc: "`\"stable\"`, `\"preemptible\"`. Left out: both."},
			{Name: "gpu", Type: BoolValue, Default: "true", Doc: "Whether a class may have graphics processors."},
			{Name: "hostile_isolation", Type: TextValue, Doc: "The `isolation` that a class needs before it may run hostile work. Left out: none is asked for.", NotYet: "No job is known to be hostile yet."},
		},
		Example: `policy {
  providers         = ["local"]
  regions           = ["eu-central-1"]
  lifetimes         = ["stable"]
  gpu               = false
  hostile_isolation = "vm"
}
`,
	},
}
