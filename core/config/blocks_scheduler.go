package config

import "github.com/forgeyard/forgeyard-fleet/core/fleet"

// schedulerBlock is a fleet.Scheduler.
type schedulerBlock struct {
	Type         string                `fleet:"-" label:"TYPE" example:"reviewos"`
	Name         string                `fleet:"-" label:"NAME" example:"main"`
	URL          string                `fleet:"url,required" example:"https://reviewos.example" doc:"Its URL: 'https', or 'http' on this machine."`
	Token        fleet.SecretReference `fleet:"token,required" example:"secret(\"env:REVIEWOS_TOKEN\")" doc:"For the calls about runners, and, where 'metrics_token' is left out, for reading demand. For 'reviewos' it is a pool maintainer's, never an administrator's."`
	MetricsToken fleet.SecretReference `fleet:"metrics_token" example:"secret(\"file:/etc/acme-ci/metrics-token\")" doc:"For reading demand from 'reviewos'. Left out: 'token'. 'forgeyard' has none."`
	Queues       []queueBlock          `fleet:"queue,block" doc:"What the jobs of a queue need, since 'reviewos' reports only how many jobs wait in a queue. A queue that isn't mapped gets no capacity, and jobs that wait there are shown as 'no_eligible_fleet'. 'forgeyard' has no queues."`
}

// queueBlock is a fleet.SchedulerQueue.
type queueBlock struct {
	Name        string            `fleet:"-" label:"NAME" example:"linux-x64-large"`
	ID          int64             `fleet:"id,required" min:"1" max:"2147483647" example:"7" doc:"The scheduler's own number of the queue. No two queues share one."`
	Class       string            `fleet:"capacity_class,required" refers:"capacity_class" example:"capacity_class.small" doc:"'capacity_class.NAME': the instances that can run its jobs. No two queues of a scheduler share one, since a runner is in one queue."`
	Pool        string            `fleet:"pool" example:"deployment" doc:"The pool that the queue belongs to. Left out: unspecified."`
	Tenant      string            `fleet:"tenant" example:"acme" doc:"The tenant whose jobs wait in it: fleets with a 'scope' of another tenant run none of them. Left out: anybody's."`
	Project     string            `fleet:"project" example:"acme/web" doc:"The project of that tenant whose jobs wait in it."`
	Preemptible bool              `fleet:"preemptible" default:"false" example:"true" doc:"Its jobs may run on instances that a provider can take away."`
	Hostile     bool              `fleet:"hostile" default:"false" example:"false" doc:"Its jobs are untrusted, such as those of outside contributions: they run only where the class has the 'isolation' of 'policy.hostile_isolation'. ReviewOS doesn't mark its jobs; without this none of them counts as hostile."`
	Labels      []string          `fleet:"labels" list:"set" form:"filled" default:"[]" example:"[\"ubuntu-latest\", \"self-hosted\"]" doc:"Labels that its runners get."`
	Tags        map[string]string `fleet:"tags" default:"{}" example:"{ region = \"eu\" }" doc:"Tags that its runners get."`
	Job         *jobBlock         `fleet:"job,block" doc:"What one job takes of an instance, at most what the class has. Left out: a whole instance."`
}

// jobBlock is what one job takes, of a fleet.ResourceCapacity.
type jobBlock struct {
	CPUMilli    int64 `fleet:"cpu" unit:"cpu" example:"0.5" doc:"Processors, from 0.001 with at most three decimal places. Left out: unspecified."`
	MemoryBytes int64 `fleet:"memory" unit:"size" example:"256MiB" doc:"Memory. Left out: unspecified."`
	DiskBytes   int64 `fleet:"disk" unit:"size" example:"1GiB" doc:"Disk. Left out: unspecified."`
}
