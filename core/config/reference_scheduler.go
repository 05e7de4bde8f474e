package config

// schedulerReference is whose jobs the fleets run.
var schedulerReference = []ReferenceBlock{
	{
		Path: "scheduler", Labels: []string{"TYPE", "NAME"}, Repeated: true,
		Doc: "A CI system that says what its jobs need and is told which runners were admitted. `TYPE` is `forgeyard` or `reviewos`. Refer to it as `scheduler.TYPE.NAME`. It is asked every two seconds. [Following a scheduler](schedulers.md) is about both, [From a shell autoscaler to a fleet file](reviewos.md) about `reviewos`.",
		Attributes: []ReferenceAttribute{
			{Name: "url", Type: TextValue, Required: true, Doc: "Where it answers. `https`, or `http` on this machine."},
			{Name: "token", Type: SecretValue, Required: true, Doc: "For the calls about runners, and, where `metrics_token` is left out, for reading demand. For `reviewos` it is a pool maintainer's, never an administrator's."},
			{Name: "metrics_token", Type: SecretValue, Doc: "For reading demand from `reviewos`. Left out: `token`. `forgeyard` has none."},
		},
		Example: `scheduler "reviewos" "main" {
  url           = "https://reviewos.example"
  token         = secret("env:REVIEWOS_TOKEN")
  metrics_token = secret("file:/etc/acme-ci/metrics-token")

  queue "linux-x64-large" {
    id             = 7
    capacity_class = capacity_class.small
    pool           = "deployment"
    tenant         = "acme"
    project        = "acme/web"
    preemptible    = true
    hostile        = false
    labels         = ["ubuntu-latest", "self-hosted"]
    tags           = { region = "eu" }

    job {
      cpu    = 0.5
      memory = "256MiB"
      disk   = "1GiB"
    }
  }
}
`,
	},
	{
		Path: "scheduler.queue", Labels: []string{"NAME"}, Repeated: true,
		Doc: "What the jobs of a queue need, since `reviewos` says of a queue only how many wait. A queue that isn't mapped gets no capacity, and jobs that wait there are shown as `no_eligible_fleet`. `forgeyard` has no queues.",
		Attributes: []ReferenceAttribute{
			{Name: "id", Type: CountValue, Required: true, Doc: "The scheduler's own number of the queue. No two queues share one."},
			{Name: "capacity_class", Type: ClassReference, Required: true, Doc: "`capacity_class.NAME`: the hosts that can run its jobs. No two queues of a scheduler share one, since a runner is in one queue."},
			{Name: "pool", Type: TextValue, Doc: "The pool that the queue belongs to. Left out: it isn't said."},
			{Name: "tenant", Type: TextValue, Doc: "Whose jobs wait in it: fleets with a `scope` of another tenant run none of them. Left out: nobody's in particular."},
			{Name: "project", Type: TextValue, Doc: "The project of that tenant whose jobs wait in it."},
			{Name: "preemptible", Type: BoolValue, Default: "false", Doc: "Its jobs may run on hosts that a provider can take away."},
			{Name: "hostile", Type: BoolValue, Default: "false", Doc: "Nobody vouches for its jobs, such as those of strangers' changes: they run only where the class has the `isolation` of `policy.hostile_isolation`. ReviewOS doesn't say so of its jobs; without this none of them is taken for hostile."},
			{Name: "labels", Type: TextListValue, Default: "[]", Doc: "Labels that its runners get."},
			{Name: "tags", Type: TextMapValue, Default: "{}", Doc: "Tags that its runners get."},
		},
	},
	{
		Path: "scheduler.queue.job",
		Doc:  "What one job takes of a host, at most what the class has. Left out: a whole host.",
		Attributes: []ReferenceAttribute{
			{Name: "cpu", Type: CPUValue, Doc: "Processors, from 0.001 with at most three decimal places. Left out: nothing is said."},
			{Name: "memory", Type: SizeValue, Doc: "Memory. Left out: nothing is said."},
			{Name: "disk", Type: SizeValue, Doc: "Disk. Left out: nothing is said."},
		},
	},
}
