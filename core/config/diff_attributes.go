package config

import (
	"fmt"
	"strconv"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func (a attributes) text(path, value string) {
	if value != "" {
		a[path] = quoted(value)
	}
}

func (a attributes) list(path string, values []string) {
	if len(values) > 0 {
		a[path] = quoted(values)
	}
}

func (a attributes) number(path string, value int64) {
	if value != 0 {
		a[path] = strconv.FormatInt(value, 10)
	}
}

func (a attributes) flag(path string, value bool) {
	if value {
		a[path] = "true"
	}
}

func (a attributes) duration(path string, value time.Duration) {
	if value != 0 {
		a[path] = quoted(durationText(value))
	}
}

func (a attributes) money(path string, value fleet.Money) {
	if !value.IsZero() {
		a[path] = quoted(value.String())
	}
}

// secret shows where a secret is; nobody here knows what it is.
func (a attributes) secret(path string, reference fleet.SecretReference) {
	if reference != "" {
		a[path] = fmt.Sprintf("secret(%s)", quoted(string(reference)))
	}
}

func forgeyardAttributes(definition fleet.Definition) attributes {
	a := attributes{}
	a.text("installation", definition.Installation)
	a.text("required_version", definition.RequiredVersion)
	a.text("manager.listen", definition.Manager.Listen)
	a.text("manager.advertise", definition.Manager.Advertise)
	a.text("manager.agents", definition.Manager.Agents)
	return a
}

func pluginsByAddress(definition fleet.Definition) map[string]attributes {
	result := map[string]attributes{}
	for _, plugin := range definition.Plugins {
		a := attributes{"name": quoted(plugin.Name)}
		a.text("source", plugin.Source)
		a.text("version", plugin.Version)
		a.list("env", plugin.Env)
		a.flag("allow_unsigned", plugin.AllowUnsigned)
		result["plugin."+plugin.Name] = a
	}
	return result
}

func providersByAddress(definition fleet.Definition) map[string]attributes {
	result := map[string]attributes{}
	for _, provider := range definition.Providers {
		a := attributes{"plugin": quoted(provider.Address.Plugin())}
		a.text("advertise", provider.Advertise)
		a.setJSON("config", provider.Config)
		result["provider."+string(provider.Address)] = a
	}
	return result
}

func schedulersByAddress(definition fleet.Definition) map[string]attributes {
	result := map[string]attributes{}
	for _, scheduler := range definition.Schedulers {
		a := attributes{"type": quoted(scheduler.Address.Type())}
		a.text("url", scheduler.URL)
		a.secret("token", scheduler.Token)
		a.secret("metrics_token", scheduler.MetricsToken)
		for _, queue := range scheduler.Queues {
			path := "queue." + queue.Name
			a.number(path+".id", queue.ID)
			a.text(path+".capacity_class", queue.Class.Name)
			a.class(path+".capacity_class", queue.Class)
			a.text(path+".pool", queue.Pool)
			a.text(path+".tenant", queue.Tenant)
			a.text(path+".project", queue.Project)
			a.flag(path+".preemptible", queue.Preemptible)
			a.flag(path+".hostile", queue.Hostile)
			a.list(path+".labels", queue.Labels)
			for name, value := range queue.Tags {
				a[path+".tags."+name] = quoted(value)
			}
			a.resources(path+".job", queue.Job)
		}
		result["scheduler."+string(scheduler.Address)] = a
	}
	return result
}

func reservationsByAddress(definition fleet.Definition) map[string]attributes {
	result := map[string]attributes{}
	for _, reservation := range definition.Reservations {
		a := attributes{}
		a.text("capacity_class", reservation.Class.Name)
		a.class("capacity_class", reservation.Class)
		a.number("quantity", int64(reservation.Quantity))
		a.text("start", reservation.Start.UTC().Format(time.RFC3339))
		a.text("end", reservation.End.UTC().Format(time.RFC3339))
		a.duration("lead_time", reservation.LeadTime)
		a.text("fleet", string(reservation.Fleet))
		a.text("scope.tenant", reservation.Scope.Tenant)
		a.text("scope.project", reservation.Scope.Project)
		a.flag("dedicated", reservation.Dedicated)
		result["reservation."+reservation.Name] = a
	}
	return result
}

func policyAttributes(definition fleet.Definition) attributes {
	a := attributes{}
	policy := definition.Policy
	a.list("providers", policy.Providers)
	a.list("regions", policy.Regions)
	var lifetimes []string
	for _, one := range policy.Lifetimes {
		lifetimes = append(lifetimes, string(one))
	}
	a.list("lifetimes", lifetimes)
	if policy.NoGPU {
		a["gpu"] = "false"
	}
	a.text("hostile_isolation", policy.HostileIsolation)
	for _, e := range policy.Entitlements {
		path := "entitlement." + e.Name
		a.text(path+".capacity_class", e.Class)
		a.list(path+".tenants", e.Tenants)
		a.list(path+".projects", e.Projects)
		a.number(path+".max", int64(e.Max))
	}
	return a
}

// fleetsByAddress shows the address itself where a fleet is moved, as it was
// before.
func fleetsByAddress(fleets map[string]fleet.RunnerFleet, movedFrom map[string]string) map[string]attributes {
	result := map[string]attributes{}
	for address, f := range fleets {
		result[address] = fleetAttributes(f.WithDefaults())
		result[address]["address"] = address
		if from, moved := movedFrom[address]; moved {
			result[address]["address"] = from
		}
	}
	return result
}

func fleetAttributes(f fleet.RunnerFleet) attributes {
	a := attributes{}
	a.text("capacity_class", f.Class.Name)
	a.class("capacity_class", f.Class)
	a.text("image", f.Image.Name)
	a.image(f.Image)
	a.text("provider", string(f.Provider))
	a.text("scheduler", string(f.Scheduler))
	a.text("lifetime_class", string(f.Lifetime))
	a.flag("protected", f.Protected)
	a.text("scope.tenant", f.Scope.Tenant)
	a.text("scope.project", f.Scope.Project)
	a.setJSON("instance", f.Instance)
	a.scaling(f.Scaling)
	a.list("placement.regions", f.Placement.Regions)
	a.list("placement.zones", f.Placement.Zones)
	a.text("placement.spread", f.Placement.Spread)
	a.flag("placement.required", f.Placement.Required)
	a["rollout.canary"] = strconv.Itoa(f.Rollout.Canary)
	a["rollout.soak"] = quoted(durationText(f.Rollout.Soak))
	a["rollout.surge"] = strconv.Itoa(f.Rollout.Surge)
	a["rollout.unavailable"] = strconv.Itoa(f.Rollout.Unavailable)
	a.money("cost.hourly", f.Cost.Hourly)
	a.duration("cost.minimum", f.Cost.Minimum)
	a.duration("cost.billing_period", f.Cost.BillingPeriod)
	a.money("cost.max_hourly", f.Cost.MaxHourly)
	a.money("cost.max_daily", f.Cost.MaxDaily)
	a.number("batch", int64(f.Batch))
	a.text("forecast.model", f.Forecast.Model)
	a.number("forecast.version", int64(f.Forecast.Version))
	a.list("runner.command", f.Runner.Command)
	for name, value := range f.Runner.Env {
		a["runner.env."+name] = quoted(value)
	}
	a.text("runner.user", f.Runner.User)
	a.list("runner.cleanup", f.Runner.Cleanup)
	a.number("runner.max_jobs", int64(f.Runner.MaxJobs))
	a.duration("runner.max_age", f.Runner.MaxAge)
	a.duration("timeouts.provision", f.Timeouts.Provision)
	a.duration("timeouts.boot", f.Timeouts.Boot)
	a.duration("timeouts.enroll", f.Timeouts.Enroll)
	a.duration("timeouts.heartbeat", f.Timeouts.Heartbeat)
	a.duration("timeouts.drain", f.Timeouts.Drain)
	a.duration("timeouts.terminate", f.Timeouts.Terminate)
	a.duration("timeouts.quarantine", f.Timeouts.Quarantine)
	a.duration("timeouts.lost_grace", f.Timeouts.LostGrace)
	a.duration("timeouts.max_offline", f.Timeouts.MaxOffline)
	a.text("admission.job_isolation", f.Admission.JobIsolation)
	a.flag("admission.match_address", f.Admission.MatchAddress)
	a.text("admission.identity", f.Admission.Identity)
	return a
}

// immutableAttributes are those whose change replaces instances: what an
// instance is and where, but not what it is called.
func immutableAttributes(f fleet.RunnerFleet) attributes {
	a := attributes{}
	a.class("capacity_class", f.Class)
	a.image(f.Image)
	a.text("provider", string(f.Provider))
	a.setJSON("instance", f.Immutable)
	return a
}

func (a attributes) scaling(policy fleet.ScalingPolicy) {
	a["scaling.min"] = strconv.Itoa(policy.Min)
	a["scaling.max"] = strconv.Itoa(policy.Max)
	a["scaling.warm"] = strconv.Itoa(policy.Warm)
	a.flag("scaling.scale_to_zero", policy.ScaleToZero)
	a.duration("scaling.max_wait", policy.MaxWait)
	a.number("scaling.scale_up.max_step", int64(policy.ScaleUp.MaxStep))
	a.duration("scaling.scale_up.window", policy.ScaleUp.Window)
	a["scaling.scale_down.idle_grace"] = quoted(durationText(policy.ScaleDown.IdleGrace))
	a["scaling.scale_down.cooldown"] = quoted(durationText(policy.ScaleDown.Cooldown))
	a.number("scaling.scale_down.max_step", int64(policy.ScaleDown.MaxStep))
	for _, schedule := range policy.Schedules {
		path := "scaling.schedule." + schedule.Name
		a.text(path+".cron", schedule.Cron)
		a.duration(path+".duration", schedule.Duration)
		a.text(path+".timezone", schedule.TimeZone)
		a[path+".warm"] = strconv.Itoa(schedule.Warm)
	}
}

func (a attributes) class(path string, class fleet.CapacityClass) {
	a.text(path+".platform.os", class.Platform.OS)
	a.text(path+".platform.arch", class.Platform.Arch)
	a.list(path+".capabilities", class.Capabilities)
	a.text(path+".trust", class.Trust)
	a.list(path+".toolchain", class.Toolchain)
	a.text(path+".device", class.Device)
	a.text(path+".isolation", class.Isolation)
	a.flag(path+".signing", class.Signing)
	a.flag(path+".confidential", class.Confidential)
	a.resources(path+".resources", class.Resources)
}

func (a attributes) resources(path string, resources fleet.ResourceCapacity) {
	if resources.CPUMilli != 0 {
		a[path+".cpu"] = cpuText(resources.CPUMilli)
	}
	if resources.MemoryBytes != 0 {
		a[path+".memory"] = quoted(sizeText(resources.MemoryBytes))
	}
	if resources.DiskBytes != 0 {
		a[path+".disk"] = quoted(sizeText(resources.DiskBytes))
	}
	a.number(path+".slots", resources.Slots)
	a.number(path+".gpu", resources.GPU)
	for name, count := range resources.Named {
		a[path+".named."+name] = strconv.FormatInt(count, 10)
	}
}

func (a attributes) image(image fleet.Image) {
	a.text("image.digest", image.Digest)
	a.text("image.bootstrap", image.Bootstrap)
	a.text("image.ref", image.Ref)
}
