package config

import "time"

// scalingBlock is a fleet.ScalingPolicy (spec §13).
type scalingBlock struct {
	Min         int             `fleet:"min,required" min:"0" max:"100000" example:"1|0" doc:"Never fewer than this. It can't be larger than 'max'."`
	Max         int             `fleet:"max,required" min:"0" max:"100000" example:"var.most|2" doc:"Never more than this, counting every instance that isn't proven gone."`
	Warm        int             `fleet:"warm" min:"0" max:"100000" default:"0" example:"2" doc:"With a scheduler: how many instances to have beyond what jobs need. Without: how many to have. Never more than 'max' in all."`
	ScaleToZero bool            `fleet:"scale_to_zero" default:"false" example:"false|true" doc:"Must be true with 'min = 0' and can't be true otherwise: with no instance left, jobs wait for a boot."`
	MaxWait     time.Duration   `fleet:"max_wait" min:"1s" notyet:"max_wait" example:"|10m" doc:"With 'scale_to_zero': how long a job may wait for the first instance. Where 'timeouts.boot' and 'timeouts.enroll' together allow more, 'validate' warns. Left out: unspecified."`
	ScaleUp     *scaleUpBlock   `fleet:"scale_up,block" doc:"How fast the fleet grows."`
	ScaleDown   *scaleDownBlock `fleet:"scale_down,block" doc:"How slowly a fleet that follows demand shrinks. One without a scheduler has a fixed size: what is above it leaves after its job."`
	Schedules   []scheduleBlock `fleet:"schedule,block" doc:"Keeps another number of instances warm at known times. While it is open its 'warm' counts instead of the scaling block's, more or fewer; of several open ones the largest counts. A time that the zone's clock is put forward over begins then; one that comes twice begins the first time, and again only where 'cron' begins in every hour."`
}

// scaleUpBlock is a fleet.ScaleUpPolicy (spec §127).
type scaleUpBlock struct {
	MaxStep int           `fleet:"max_step" min:"1" max:"100000" example:"5" doc:"At most this many instances are started in each 'window', from 1 to 100000. Left out: no limit."`
	Window  time.Duration `fleet:"window" min:"1s" default:"1m" example:"1m" doc:"At least '\"1s\"'."`
}

// scaleDownBlock is a fleet.ScaleDownPolicy, the hysteresis (spec §128, §129).
type scaleDownBlock struct {
	IdleGrace time.Duration `fleet:"idle_grace" min:"1s" default:"10m" example:"10m" doc:"How long the scheduler must have shown an instance without a job before it leaves, at least '\"1s\"'."`
	Cooldown  time.Duration `fleet:"cooldown" default:"5m" example:"5m" doc:"How long after the fleet last grew or shrank no instance leaves."`
	MaxStep   int           `fleet:"max_step" min:"1" max:"100000" example:"2" doc:"At most this many leave at a time, from 1 to 100000. Left out: no limit."`
}

// scheduleBlock is a fleet.ScalingSchedule.
type scheduleBlock struct {
	Name     string        `fleet:"-" label:"NAME" example:"office-hours|"`
	Cron     string        `fleet:"cron,required" form:"cron" example:"0 8 * * 1-5|" doc:"When it begins, in five fields: minute, hour, day of the month, month, day of the week."`
	Duration time.Duration `fleet:"duration,required" min:"1m" example:"10h|" doc:"How long it lasts in real time, at least '\"1m\"'. Windows that touch or overlap are one."`
	TimeZone string        `fleet:"timezone" form:"time zone" default:"UTC" example:"Europe/Berlin" doc:"The zone of 'cron', such as '\"Europe/Berlin\"'."`
	Warm     int           `fleet:"warm,required" min:"0" max:"100000" example:"4|" doc:"How many idle instances to keep ready in that time, at most 'max'."`
}
