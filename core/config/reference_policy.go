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
		Path: "fleet.placement",
		Doc:  "Where the hosts may be. It chooses among the offers of a provider that lists them; any other decides by itself where a host is made.",
		Attributes: []ReferenceAttribute{
			{Name: "regions", Type: TextListValue, Default: "[]", Doc: "No host is made anywhere else, and jobs that must stay in regions run here only if they may be in all of these. Empty: those of the policy block, where the provider lists offers; else anywhere. For a provider that lists none it is your word on where its hosts are."},
			{Name: "zones", Type: TextListValue, Default: "[]", Doc: "No host is made in any other zone. Empty: in any.", NotYet: "The provider's plugin lists no offers: it alone decides in which zone a host is made.", Offers: true},
			{Name: "spread", Type: TextValue, Default: `"none"`, Doc: "What a failure shouldn't take away whole: `\"none\"`, `\"zone\"`, `\"region\"` or `\"provider\"`. The last is over the fleets of the same class and scheduler that say so, too: new hosts for jobs are made at the provider that has the fewest of them.", NotYet: "The provider's plugin lists no offers, so there is nothing to spread over zones or regions.", Offers: true},
			{Name: "required", Type: BoolValue, Default: "false", Doc: "The spread is a rule and not a preference: a place without room stays the next one. With `\"provider\"` no provider gets more of the hosts than its even share, rounded up, whatever they are made for; one that a person froze or quarantined doesn't count."},
		},
	},
	{
		Path: "fleet.rollout",
		Doc:  "How hosts are replaced when what they should be changes.",
		Attributes: []ReferenceAttribute{
			{Name: "canary", Type: CountValue, Default: "1", Doc: "How many of the new ones come first. 0: none does."},
			{Name: "soak", Type: DurationValue, Default: `"15m"`, Doc: "How long these must be healthy before the others follow. If one of the new ones doesn't boot or enroll, is quarantined or lost, the rollout is halted until a person takes it up or goes back."},
			{Name: "surge", Type: CountValue, Default: "1", Doc: "How many more hosts than wanted there may be meanwhile, never more than `max`. Where `max` leaves no room, one is missing at a time instead. Not zero together with `unavailable`."},
			{Name: "unavailable", Type: CountValue, Default: "0", Doc: "How many fewer."},
		},
	},
	{
		Path: "fleet.cost",
		Doc:  "What a host costs and what may be spent. All fleets of a class use one currency. It is an estimate that protects an installation, and no bill.",
		Attributes: []ReferenceAttribute{
			{Name: "hourly", Type: MoneyValue, Doc: "Price of a host for an hour, where the provider can't tell. It orders fleets, and offers without a price. A limit needs it where the provider quotes no prices."},
			{Name: "minimum", Type: DurationValue, Doc: "The shortest time that is paid for, at least `\"1s\"`, where the provider's offer says none. No host leaves for want of work before that."},
			{Name: "billing_period", Type: DurationValue, Doc: "What is paid for at a time, such as `\"1h\"`, where the provider's offer says none. Of hosts that could leave the one goes first whose period ends first. Left out: by the second."},
			{Name: "max_hourly", Type: MoneyValue, Doc: "No host is started that would make an hour of the fleet cost more, whatever it is for; jobs wait instead. Nothing that runs is ended for it. Left out: no limit."},
			{Name: "max_daily", Type: MoneyValue, Doc: "The same for a day of the calendar in UTC: what is there counts as if it ran until the day ends. Left out: no limit."},
		},
	},
	{
		Path: "fleet.forecast",
		Doc:  "Lets a model of demand ask for more than is waiting, never for less and never beyond `max`. It looks as far ahead as the fleet's hosts take to be there, needs two days of demand, and has no effect while it has been off too far lately. It has no meaning without `scheduler`.",
		Attributes: []ReferenceAttribute{
			{Name: "model", Type: TextValue, Required: true, Doc: "`\"seasonal-naive\"` expects what was needed at this time a day or a week ago; `\"holt-winters\"` follows a level that changes, too."},
			{Name: "version", Type: CountValue, Required: true, Doc: "The model's version: 1. What would say something else is another version."},
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
		Doc:  "What fleets may be declared at all, and whose jobs they run. A fleet that isn't allowed is an error, and nothing is applied. Fleets that the files no longer mention, and hosts that are there, aren't ended by it; `status` shows what the policy doesn't allow.",
		Attributes: []ReferenceAttribute{
			{Name: "providers", Type: TextListValue, Doc: "Plugins, or `PLUGIN.NAME` of provider blocks. Left out: any."},
			{Name: "regions", Type: TextListValue, Doc: "Regions that `placement.regions` may name. A fleet that names none is kept to these where its provider lists offers, and is an error where it doesn't: nobody but you knows where its hosts are. Left out: any."},
			{Name: "lifetimes", Type: TextListValue, Doc: "`\"stable\"`, `\"preemptible\"`. Left out: both."},
			{Name: "gpu", Type: BoolValue, Default: "true", Doc: "Whether a class may have graphics processors."},
			{Name: "hostile_isolation", Type: TextValue, Doc: "The `isolation` that a class needs before it may run hostile jobs: those of which the scheduler says so, or whose `queue` block does. Isolations have no order: exactly this one is asked for. Left out: `\"vm\"`."},
		},
		Example: `policy {
  providers         = ["local"]
  regions           = ["eu-central-1"]
  lifetimes         = ["stable"]
  gpu               = false
  hostile_isolation = "vm"

  entitlement "release-hosts" {
    capacity_class = capacity_class.small
    tenants        = ["acme"]
    projects       = ["acme/docs", "acme/web"]
    max            = 40
  }
}
`,
	},
	{
		Path: "policy.entitlement", Labels: []string{"NAME"}, Repeated: true,
		Doc: "Who may use a capacity class. A class that any entitlement names is for those alone whom one of them lists; a class that none names is everybody's. It only takes away: whoever is entitled still needs a fleet that meets all that the jobs require.",
		Attributes: []ReferenceAttribute{
			{Name: "capacity_class", Type: ClassReference, Required: true, Doc: "`capacity_class.NAME`."},
			{Name: "tenants", Type: TextListValue, Doc: "Tenants whose jobs may use it. At least one tenant or project."},
			{Name: "projects", Type: TextListValue, Doc: "Projects whose jobs may use it."},
			{Name: "max", Type: CountValue, Doc: "How many instances of the class there may be for them, whatever their state, from 1 to 100000. Several entitlements to a class add up; a fleet whose `scope` is one tenant or project has only what is for that one. Which job runs on which host is the scheduler's business: what one tenant may run at once is a quota there. Left out: no limit but the fleets' own."},
		},
	},
}
