package config

import (
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
		a.setJSON("config", provider.Config)
		result["provider."+string(provider.Address)] = a
	}
	return result
}

func fleetsByAddress(definition fleet.Definition) map[string]attributes {
	result := map[string]attributes{}
	for _, f := range definition.Fleets {
		result[string(f.Address)] = fleetAttributes(f)
	}
	return result
}

func fleetAttributes(f fleet.RunnerFleet) attributes {
	a := attributes{}
	a.text("capacity_class", f.Class.Name)
	a.class(f.Class)
	a.text("image", f.Image.Name)
	a.image(f.Image)
	a.text("provider", string(f.Provider))
	a.setJSON("instance", f.Instance)
	a["scaling.min"] = strconv.Itoa(f.Scaling.Min)
	a["scaling.max"] = strconv.Itoa(f.Scaling.Max)
	a["scaling.warm"] = strconv.Itoa(f.Scaling.Warm)
	a.flag("scaling.scale_to_zero", f.Scaling.ScaleToZero)
	a.list("runner.command", f.Runner.Command)
	for name, value := range f.Runner.Env {
		a["runner.env."+name] = quoted(value)
	}
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
	return a
}

// immutableAttributes are those whose change replaces instances: what an
// instance is and where, but not what it is called.
func immutableAttributes(f fleet.RunnerFleet) attributes {
	a := attributes{}
	a.class(f.Class)
	a.image(f.Image)
	a.text("provider", string(f.Provider))
	a.setJSON("instance", f.Immutable)
	return a
}

func (a attributes) class(class fleet.CapacityClass) {
	a.text("capacity_class.platform.os", class.Platform.OS)
	a.text("capacity_class.platform.arch", class.Platform.Arch)
	a.list("capacity_class.capabilities", class.Capabilities)
	a.text("capacity_class.trust", class.Trust)
	if class.Resources.CPUMilli != 0 {
		a["capacity_class.resources.cpu"] = cpuText(class.Resources.CPUMilli)
	}
	if class.Resources.MemoryBytes != 0 {
		a["capacity_class.resources.memory"] = quoted(sizeText(class.Resources.MemoryBytes))
	}
	if class.Resources.DiskBytes != 0 {
		a["capacity_class.resources.disk"] = quoted(sizeText(class.Resources.DiskBytes))
	}
	a.number("capacity_class.resources.slots", class.Resources.Slots)
}

func (a attributes) image(image fleet.Image) {
	a.text("image.digest", image.Digest)
	a.text("image.bootstrap", image.Bootstrap)
	a.text("image.ref", image.Ref)
}
