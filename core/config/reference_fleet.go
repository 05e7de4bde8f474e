package config

// fleetReference is a fleet and its policies.
var fleetReference = []ReferenceBlock{
	{
		Path: "fleet", Labels: []string{"NAME"}, Repeated: true,
		Doc: "A number of hosts of one class from one provider. Its address is `fleet.NAME`.",
		Attributes: []ReferenceAttribute{
			{Name: "capacity_class", Type: ClassReference, Required: true, Doc: "`capacity_class.NAME`: what the hosts are."},
			{Name: "provider", Type: PluginReference, Required: true, Doc: "`provider.PLUGIN.NAME`: where they come from. A change replaces instances."},
			{Name: "image", Type: ImageReference, Doc: "`image.NAME`: what they boot. The image must have a reference for the provider. A change replaces instances. Left out: none."},
			{Name: "scheduler", Type: SchedulerReference, Doc: "`scheduler.TYPE.NAME`: whose jobs run here. The fleet then follows its demand within the bounds of `scaling`, and its hosts run the scheduler's worker. Left out: none, and the fleet has a fixed size."},
			{Name: "lifetime_class", Type: TextValue, Default: `"stable"`, Doc: "`\"preemptible\"`: the provider may take the hosts away. `\"stable\"`: it may not.", NotYet: "The provider's plugin lists no offers: it isn't asked for one or the other.", Offers: true},
			{Name: "protected", Type: BoolValue, Default: "false", Doc: "For hosts that sign. A protected fleet has the size of its `min`: it doesn't follow demand, and can't be preemptible, go to zero, have schedules or follow a forecast."},
			{Name: "batch", Type: CountValue, Default: "1", Doc: "How many instances one call of the provider may make, from 1 to 100 and no more than its plugin takes. A batch is made whole or not at all, so that a large one finds room less often. Its hosts share one enrollment token and are told apart by their evidence: more than 1 takes a plugin that makes batches, and `identity = \"required\"` in `admission`. `1`: each call makes one."},
			{Name: "for_each", Type: EachValue, Doc: "One fleet for each element of a map or of a set of text, with the address `fleet.NAME[\"KEY\"]`. Inside the block, `each.key` is the key and `each.value` the value, which for a set is the key as well. Keys hold letters, digits, `.`, `-` and `_`. A definition has at most 20000 fleets. Left out: one fleet."},
		},
		Example: `fleet "demo" {
  capacity_class = capacity_class.small
  provider       = provider.local.here
  image          = image.workstation
  scheduler      = scheduler.reviewos.main
  lifetime_class = "stable"
  protected      = false
  batch          = 1

  scope {
    tenant = "acme"
  }

  instance {
    nice = 10
  }

  scaling {
    min           = 1
    max           = var.most
    warm          = 2
    scale_to_zero = false

    scale_up {
      max_step = 5
      window   = "1m"
    }

    scale_down {
      idle_grace = "10m"
      cooldown   = "5m"
      max_step   = 2
    }

    schedule "office-hours" {
      cron     = "0 8 * * 1-5"
      duration = "10h"
      timezone = "Europe/Berlin"
      warm     = 4
    }
  }

  runner {
    command  = local.command
    env      = { LANG = "C.UTF-8" }
    user     = "ci"
    cleanup  = ["sh", "-c", "rm -rf /tmp/*"]
    max_jobs = 100
    max_age  = "7d"
  }

  timeouts {
    provision   = "10m"
    boot        = "5m"
    enroll      = "3m"
    heartbeat   = "2m"
    drain       = "2h"
    terminate   = "15m"
    quarantine  = "1d"
    lost_grace  = "15m"
    max_offline = "7d"
  }

  admission {
    job_isolation = "none"
    match_address = false
    identity      = "none"
  }

  placement {
    regions  = ["eu-central-1"]
    zones    = ["eu-central-1a", "eu-central-1b"]
    spread   = "zone"
    required = true
  }

  rollout {
    canary      = 1
    soak        = "15m"
    surge       = 1
    unavailable = 1
  }

  cost {
    hourly         = "0.192 USD"
    minimum        = "1m"
    billing_period = "1s"
    max_hourly     = "5 USD"
    max_daily      = "60 USD"
  }

  forecast {
    model   = "seasonal-naive"
    version = 1
  }
}

fleet "team" {
  for_each = toset(["docs", "web"])

  capacity_class = capacity_class.small
  provider       = provider.local.here

  scope {
    project = "acme/${each.key}"
  }

  placement {
    regions = ["eu-central-1"]
  }

  scaling {
    min           = 0
    max           = 2
    scale_to_zero = true
    max_wait      = "10m"
  }
}
`,
	},
	{
		Path: "fleet.instance", Body: PluginBody,
		Doc: "What each host is made from. The schema of the provider's plugin says what it holds, which attributes are required, and which replace instances when they change. Left out: an empty body.",
	},
	{
		Path: "fleet.scaling", Required: true,
		Doc: "The bounds of the fleet's size. With a scheduler it is what running and waiting jobs need, and `warm` more. Without one it is the greater of `min` and `warm`. Each is a number of hosts from 0 to 100000.",
		Attributes: []ReferenceAttribute{
			{Name: "min", Type: CountValue, Required: true, Doc: "Never fewer than this. It can't be larger than `max`."},
			{Name: "max", Type: CountValue, Required: true, Doc: "Never more than this, counting every host that isn't proven gone."},
			{Name: "warm", Type: CountValue, Default: "0", Doc: "With a scheduler: how many hosts to have beyond what jobs need. Without: how many to have. Never more than `max` in all."},
			{Name: "scale_to_zero", Type: BoolValue, Default: "false", Doc: "Must be true with `min = 0` and can't be true otherwise: with no host left, work waits for a boot."},
			{Name: "max_wait", Type: DurationValue, Doc: "With `scale_to_zero`: how long a job may wait for the first host. Where `timeouts.boot` and `timeouts.enroll` together allow more, `validate` warns. Left out: nothing is said.", NotYet: "It is only compared with the timeouts."},
		},
	},
	{
		Path: "fleet.runner",
		Doc:  "What an admitted host runs. It is told to the agent and never in the first-boot document, and a change reaches running agents with their next heartbeat. Left out: nothing runs.",
		Attributes: []ReferenceAttribute{
			{Name: "command", Type: TextListValue, Doc: "The program and its arguments. One run is one job; it is run again and again, one at a time, each in an empty folder. A run that fails within 10 seconds is followed by a pause of 1 second, doubling to a minute. In a fleet with a scheduler it is the worker, which takes jobs from the scheduler and ends when it gets `SIGTERM` and has none. Left out: the worker that the scheduler names; without a scheduler nothing runs."},
			{Name: "env", Type: TextMapValue, Default: "{}", Doc: "Environment of the command, besides `PATH`, `HOME`, `LANG`, `TMPDIR` and `FORGEYARD_JOB`. It is stored as it is: no place for secrets."},
			{Name: "user", Type: TextValue, Doc: "OS user on the host that jobs run as, where the agent runs as root. With `job_isolation = \"required\"` the user must belong to jobs alone: it loses its groups but the first, and after each job all of its processes are ended (with a scheduler: after each run of the worker, whose jobs share the user). Left out: then a user that the agent makes up, a number without a name; with `\"none\"` the agent's own."},
			{Name: "cleanup", Type: TextListValue, Doc: "A program and its arguments that runs after each job, as the agent's own user; with a scheduler, after each run of the worker, which has many jobs unless `max_jobs = 1`. It may take 5 minutes. Where it fails, no other job begins on the host, and after `timeouts.heartbeat` the host is quarantined. Left out: nothing runs."},
			{Name: "max_jobs", Type: CountValue, Doc: "After so many jobs, from 1 to 1000000, the agent leaves and its host is replaced. With a scheduler these are the scheduler's jobs. Left out: no limit."},
			{Name: "max_age", Type: DurationValue, Doc: "After this time since the agent's start, at least `\"1s\"`, it begins no other job and leaves. In a fleet with a scheduler the oldest host is drained, one at a time. Left out: no limit."},
		},
	},
	{
		Path: "fleet.timeouts",
		Doc:  "How long an instance may stay in a state, and how long silence is borne. All are more than zero; `heartbeat` is at least `\"1s\"`.",
		Attributes: []ReferenceAttribute{
			{Name: "provision", Type: DurationValue, Default: `"10m"`, Doc: "From the request until the resource is seen. Then the instance failed."},
			{Name: "boot", Type: DurationValue, Default: `"5m"`, Doc: "From then until an agent enrolls. Then it failed."},
			{Name: "enroll", Type: DurationValue, Default: `"3m"`, Doc: "From then until it is admitted. Then it failed. The enrollment token is good for `provision`, `boot` and `enroll` together."},
			{Name: "heartbeat", Type: DurationValue, Default: `"2m"`, Doc: "Silence after which a runner no longer counts as capacity. Agents beat at least four times as often: each second where they are few, and never more than 10 seconds apart."},
			{Name: "lost_grace", Type: DurationValue, Default: `"15m"`, Doc: "Silence after which an admitted runner is quarantined. It comes back with its next heartbeat. Less than `heartbeat` counts as `heartbeat`."},
			{Name: "quarantine", Type: DurationValue, Default: `"1d"`, Doc: "From quarantine until the instance is terminated, unless its agent still beats and reports a running job. Silence for `heartbeat` and `quarantine` together also ends a drain."},
			{Name: "drain", Type: DurationValue, Default: `"2h"`, Doc: "How long a drain may take before the fleet's health says so. It never ends a job."},
			{Name: "terminate", Type: DurationValue, Default: `"15m"`, Doc: "The same for a termination. It is tried until the resource is proven gone."},
			{Name: "max_offline", Type: DurationValue, Default: `"7d"`, Doc: "How long after its certificate expired an agent may still renew it with the same key."},
		},
	},
	{
		Path: "fleet.admission",
		Doc:  "What a host must show before it may be given work, besides the checks that always hold.",
		Attributes: []ReferenceAttribute{
			{Name: "job_isolation", Type: TextValue, Default: `"required"`, Doc: "`\"required\"`: jobs run as another user than the agent, and the agent shows that this user reaches neither its files nor the metadata addresses. That needs an agent that runs as root on Linux; any other host is rejected. `\"none\"`: jobs needn't be isolated, and sudo works in them. With a scheduler the worker is what is isolated: its jobs share a user and its files. `max_jobs = 1` gives each job a host's life of its own."},
			{Name: "match_address", Type: BoolValue, Default: "false", Doc: "Whether the agent must call from an address that the provider shows for its host. Until the provider shows one, admission waits; another one quarantines the host."},
			{Name: "identity", Type: TextValue, Default: `"required"`, Doc: "`\"required\"`: an agent enrolls only with a document about its host that the provider's infrastructure signed and its plugin verified as of this very instance. `\"none\"`: the single-use token is enough. Where the plugin verifies no identity, or its provider block lacks what that takes, it is `\"none\"`, and `\"required\"` is refused."},
		},
	},
}

// removalReference is how a fleet is taken away.
var removalReference = []ReferenceBlock{
	{
		Path: "removed", Repeated: true,
		Doc: "Takes a fleet away: every runner leaves after its job, then the fleet is forgotten. A fleet that the files merely don't mention any more runs on. The fleet's `provider` block may leave the files with it, and is kept as it was applied until the last instance is gone; its plugin must stay in `fleet.lock.hcl` as long.",
		Attributes: []ReferenceAttribute{
			{Name: "from", Type: FleetReference, Required: true, Doc: "`fleet.NAME`, or `fleet.NAME[\"KEY\"]`, of a fleet that isn't declared."},
		},
		Example: `removed {
  from = fleet.legacy
}
`,
	},
	{
		Path: "moved", Repeated: true,
		Doc: "Gives a fleet another address and keeps its instances. Without it, a fleet under a new name is a new fleet. The block may stay when it has been applied, and a later one may lead on: from `a` to `b` and from `b` to `c` both lead to `c`.",
		Attributes: []ReferenceAttribute{
			{Name: "from", Type: FleetReference, Required: true, Doc: "The old address, which isn't declared any more."},
			{Name: "to", Type: FleetReference, Required: true, Doc: "The new address, which is. Only one fleet can be moved to it."},
		},
		Example: `moved {
  from = fleet.legacy-docs
  to   = fleet.team["docs"]
}
`,
	},
}
