package config

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// fleetBlock is a fleet.RunnerFleet whose references aren't resolved.
type fleetBlock struct {
	Name      string          `fleet:"-" label:"NAME" example:"demo|team"`
	ForEach   Expression      `fleet:"for_each" value:"map, or set of text" example:"|toset([\"docs\", \"web\"])" doc:"One fleet for each element of a map or of a set of text, with the address 'fleet.NAME[\"KEY\"]'. Inside the block, 'each.key' is the key and 'each.value' the value, which for a set is the key as well. Keys hold letters, digits, '.', '-' and '_'. A definition has at most 20000 fleets. Left out: one fleet."`
	Class     string          `fleet:"capacity_class,required" refers:"capacity_class" example:"capacity_class.small" doc:"'capacity_class.NAME': what the instances are."`
	Provider  string          `fleet:"provider,required" refers:"provider" example:"provider.local.here" doc:"'provider.PLUGIN.NAME': where they come from. A change replaces instances."`
	Image     string          `fleet:"image" refers:"image" example:"image.workstation" doc:"'image.NAME': what they boot. The image must have a reference for the provider. A change replaces instances. Left out: none."`
	Scheduler string          `fleet:"scheduler" refers:"scheduler" example:"scheduler.reviewos.main" doc:"'scheduler.TYPE.NAME': whose jobs run here. The fleet then follows its demand within the bounds of 'scaling', and its instances run the scheduler's worker. Left out: none, and the fleet has a fixed size."`
	Lifetime  string          `fleet:"lifetime_class" oneof:"stable,preemptible" default:"stable" notyet:"lifetime" example:"stable" doc:"'\"preemptible\"': the provider may take the instances away. '\"stable\"': it may not."`
	Protected bool            `fleet:"protected" default:"false" example:"false" doc:"For instances that sign. A protected fleet has the size of its 'min': it doesn't follow demand, and can't be preemptible, go to zero, have schedules or follow a forecast."`
	Batch     int             `fleet:"batch" min:"1" max:"100" default:"1" example:"1" doc:"How many instances one call of the provider may make, from 1 to 100 and no more than its plugin takes. A batch is made whole or not at all, so that a large one finds room less often. Its instances share one enrollment token and are told apart by their evidence: more than 1 takes a plugin that makes batches, and 'identity = \"required\"' in 'admission'. '1': each call makes one."`
	Instance  *struct{}       `fleet:"instance,block" body:"plugin" example:"nice = 10|" doc:"What each instance is made from. The schema of the provider's plugin says what it holds, which attributes are required, and which replace instances when they change. Left out: an empty body."`
	Scope     *scopeBlock     `fleet:"scope,block" doc:"Whose jobs the fleet runs. Left out, or empty: the whole installation's."`
	Scaling   *scalingBlock   `fleet:"scaling,block,required" doc:"The bounds of the fleet's size. With a scheduler it is what running and waiting jobs need, and 'warm' more. Without one it is the greater of 'min' and 'warm'. Each is a number of instances from 0 to 100000."`
	Runner    *runnerBlock    `fleet:"runner,block" doc:"What an admitted instance runs. It is sent to the agent and is never in the first-boot document, and a change reaches running agents with their next heartbeat. Left out: nothing runs."`
	Timeouts  *timeoutsBlock  `fleet:"timeouts,block" doc:"How long an instance may stay in a state, and how long silence is tolerated. All are more than zero; 'heartbeat' is at least '\"1s\"'."`
	Admission *admissionBlock `fleet:"admission,block" doc:"What an instance must show before it may be given work, besides the checks that always hold."`
	Placement *placementBlock `fleet:"placement,block" doc:"Where the instances may be. It chooses among the offers of a provider that lists them; any other decides by itself where an instance is made."`
	Rollout   *rolloutBlock   `fleet:"rollout,block" doc:"How instances are replaced when what they should be changes."`
	Cost      *costBlock      `fleet:"cost,block" doc:"What an instance costs and what may be spent. All fleets of a class use one currency. It is an estimate that protects an installation, not a bill."`
	Forecast  *forecastBlock  `fleet:"forecast,block" doc:"Lets a model of demand ask for more than is queued, never for less and never beyond 'max'. It looks as far ahead as an instance takes to be ready, needs two days of demand, and has no effect while its recent error is too large. It has no effect without 'scheduler'."`
}

// scopeBlock is a fleet.FleetScope.
type scopeBlock struct {
	Tenant  string `fleet:"tenant" form:"filled" example:"acme|" doc:"The tenant whose jobs it is for. Not together with 'project'."`
	Project string `fleet:"project" form:"filled" example:"|acme/web" doc:"The project whose jobs it is for."`
}

// runnerBlock is a fleet.RunnerPolicy.
type runnerBlock struct {
	Command []string          `fleet:"command" list:"program" example:"local.command" doc:"The program and its arguments. One run is one job; it is run again and again, one at a time, each in an empty folder. A run that fails within 10 seconds is followed by a pause of 1 second, doubling to a minute. In a fleet with a scheduler it is the worker, which takes jobs from the scheduler and ends when it gets 'SIGTERM' and has none. Left out: the worker that the scheduler names; without a scheduler nothing runs."`
	Env     map[string]string `fleet:"env" keys:"environment" default:"{}" example:"{ LANG = \"C.UTF-8\" }|{ TEAM = each.key }" doc:"Environment of the command, besides 'PATH', 'HOME', 'LANG', 'TMPDIR' and 'FORGEYARD_JOB'. It is stored as it is: no place for secrets."`
	User    string            `fleet:"user" form:"user" example:"ci" doc:"OS user on the instance that jobs run as, where the agent runs as root. With 'job_isolation = \"required\"' the user must be for jobs only: it loses its groups but the first, and after each job all of its processes are ended (with a scheduler: after each run of the worker, whose jobs share the user). Left out: then a user that the agent makes up, a number without a name; with '\"none\"' the agent's own."`
	Cleanup []string          `fleet:"cleanup" list:"program" example:"[\"sh\", \"-c\", \"rm -rf /tmp/*\"]" doc:"A program and its arguments that runs after each job, as the agent's own user; with a scheduler, after each run of the worker, which has many jobs unless 'max_jobs = 1'. It may take 5 minutes. Where it fails, no other job begins on the instance, and after 'timeouts.heartbeat' the instance is quarantined. Left out: nothing runs."`
	MaxJobs int               `fleet:"max_jobs" min:"1" max:"1000000" example:"100" doc:"After this many jobs, from 1 to 1000000, the agent leaves and its instance is replaced. With a scheduler these are the scheduler's jobs. Left out: no limit."`
	MaxAge  time.Duration     `fleet:"max_age" min:"1s" example:"7d" doc:"After this time since the agent's start, at least '\"1s\"', it begins no other job and leaves. In a fleet with a scheduler the oldest instance is drained, one at a time. Left out: no limit."`
}

// timeoutsBlock is a fleet.Timeouts.
type timeoutsBlock struct {
	Provision  time.Duration `fleet:"provision" min:"1ns" default:"10m" example:"10m" doc:"From the request until the resource is seen. Then the instance failed."`
	Boot       time.Duration `fleet:"boot" min:"1ns" default:"5m" example:"5m" doc:"From then until an agent enrolls. Then it failed."`
	Enroll     time.Duration `fleet:"enroll" min:"1ns" default:"3m" example:"3m" doc:"From then until it is admitted. Then it failed. The enrollment token is good for 'provision', 'boot' and 'enroll' together."`
	Heartbeat  time.Duration `fleet:"heartbeat" min:"1s" default:"2m" example:"2m" doc:"Silence after which a runner no longer counts as capacity. Agents send heartbeats at least four times as often: each second in a small installation, and never more than 10 seconds apart."`
	Drain      time.Duration `fleet:"drain" min:"1ns" default:"2h" example:"2h" doc:"How long a drain may take before the fleet's health says so. It never ends a job."`
	Terminate  time.Duration `fleet:"terminate" min:"1ns" default:"15m" example:"15m" doc:"The same for a termination. It is tried until the resource is proven gone."`
	Quarantine time.Duration `fleet:"quarantine" min:"1ns" default:"1d" example:"1d" doc:"From quarantine until the instance is terminated, unless its agent still sends heartbeats and reports a running job. Silence for 'heartbeat' and 'quarantine' together also ends a drain."`
	LostGrace  time.Duration `fleet:"lost_grace" min:"1ns" default:"15m" example:"15m" doc:"Silence after which an admitted runner is quarantined. It comes back with its next heartbeat. Less than 'heartbeat' counts as 'heartbeat'."`
	MaxOffline time.Duration `fleet:"max_offline" min:"1ns" default:"7d" example:"7d" doc:"How long after its certificate expired an agent may still renew it with the same key."`
}

// admissionBlock is a fleet.AdmissionPolicy. What identity is by default depends on
// the provider's plugin, so that it has no default tag.
type admissionBlock struct {
	JobIsolation string `fleet:"job_isolation" oneof:"required,none" default:"required" example:"none" doc:"'\"required\"': jobs run as another user than the agent, and the agent shows that this user reaches neither its files nor the metadata addresses. That needs an agent that runs as root on Linux; any other instance is rejected. '\"none\"': jobs needn't be isolated, and sudo works in them. With a scheduler the worker is what is isolated: its jobs share a user and its files. 'max_jobs = 1' gives each job an instance of its own."`
	MatchAddress bool   `fleet:"match_address" default:"false" example:"false" doc:"Whether the agent must call from an address that the provider shows for its instance. Until the provider shows one, admission waits; another one quarantines the instance."`
	Identity     string `fleet:"identity" oneof:"required,none" example:"none" doc:"'\"required\"': an agent enrolls only with a document about its instance that the provider's infrastructure signed and its plugin verified as of this very instance. '\"none\"': the single-use token is enough. Left out: '\"required\"' where the plugin verifies identities and its provider block has what that takes, else '\"none\"'; there '\"required\"' is an error."`
}

// placementBlock is a fleet.PlacementPolicy.
type placementBlock struct {
	Regions  []string `fleet:"regions" list:"set" form:"filled" default:"[]" example:"[\"eu-central-1\"]|[\"eu-central-1\"]" doc:"No instance is made anywhere else, and jobs that must stay in regions run here only if they may be in all of these. Empty: those of the policy block, where the provider lists offers; else anywhere. For a provider that lists none it states where its instances are."`
	Zones    []string `fleet:"zones" list:"set" form:"filled" default:"[]" notyet:"zones" example:"[\"eu-central-1a\", \"eu-central-1b\"]" doc:"No instance is made in any other zone. Empty: in any."`
	Spread   string   `fleet:"spread" oneof:"none,zone,region,provider" default:"none" notyet:"spread" example:"zone" doc:"What a failure shouldn't take away whole: '\"none\"', '\"zone\"', '\"region\"' or '\"provider\"'. The last is over the fleets of the same class and scheduler that say so, too: new instances for jobs are made at the provider that has the fewest of them."`
	Required bool     `fleet:"required" default:"false" example:"true" doc:"The spread is a rule and not a preference: a zone, region or provider without room stays the next one. With '\"provider\"' no provider gets more of the instances than its even share, rounded up, whatever they are made for; one that a person froze or quarantined doesn't count."`
}

// rolloutBlock is a fleet.RolloutPolicy.
type rolloutBlock struct {
	Canary      int           `fleet:"canary" min:"0" max:"100000" default:"1" example:"1" doc:"How many of the new ones come first. 0: none."`
	Soak        time.Duration `fleet:"soak" default:"15m" example:"15m" doc:"How long these must be healthy before the others follow. If one of the new ones doesn't boot or enroll, is quarantined or lost, the rollout stops until a person resumes it or goes back."`
	Surge       int           `fleet:"surge" min:"0" max:"100000" default:"1" example:"1" doc:"How many more instances than wanted there may be meanwhile, never more than 'max'. Where 'max' leaves no room, one is missing at a time instead. Not zero together with 'unavailable'."`
	Unavailable int           `fleet:"unavailable" min:"0" max:"100000" default:"0" example:"1" doc:"How many fewer."`
}

// costBlock is a fleet.CostPolicy.
type costBlock struct {
	Hourly        fleet.Money   `fleet:"hourly" example:"0.192 USD" doc:"Price of an instance per hour, where the provider quotes none. It orders fleets, and offers without a price. A limit needs it where the provider quotes no prices."`
	Minimum       time.Duration `fleet:"minimum" min:"1s" example:"1m" doc:"The shortest time that is paid for, at least '\"1s\"', where the provider's offer says none. No idle instance is removed before that."`
	BillingPeriod time.Duration `fleet:"billing_period" min:"1s" example:"1s" doc:"What is paid for at a time, such as '\"1h\"', where the provider's offer says none. Of instances that could leave the one goes first whose period ends first. Left out: by the second."`
	MaxHourly     fleet.Money   `fleet:"max_hourly" example:"5 USD" doc:"No instance is started that would make an hour of the fleet cost more, whatever it is for; jobs wait instead. Running instances aren't ended for it. Left out: no limit."`
	MaxDaily      fleet.Money   `fleet:"max_daily" example:"60 USD" doc:"The same for a day of the calendar in UTC: existing instances count as if they ran until the day ends. Left out: no limit."`
}

// forecastBlock is a fleet.Forecast.
type forecastBlock struct {
	Model   string `fleet:"model,required" example:"seasonal-naive|" doc:"'\"seasonal-naive\"' expects what was needed at this time a day or a week ago; '\"holt-winters\"' follows a level that changes, too."`
	Version int    `fleet:"version,required" min:"1" max:"65535" example:"1|" doc:"The model's version: 1. A model that would give other results gets another version."`
}
