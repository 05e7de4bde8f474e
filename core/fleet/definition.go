package fleet

import (
	"encoding/json"
	"slices"
	"time"
)

// Definition is one applied fleet file: everything that a person declares, with
// every reference resolved and every default filled in. Slices are sorted by
// address so that equal files give equal bytes.
type Definition struct {
	Installation    string              `json:"installation"`
	RequiredVersion string              `json:"required_version,omitempty"`
	Manager         ManagerSettings     `json:"manager"`
	Plugins         []PluginRequirement `json:"plugins"`
	Providers       []Provider          `json:"providers"`
	Schedulers      []Scheduler         `json:"schedulers,omitempty"`
	Fleets          []RunnerFleet       `json:"fleets"`
	// Reservations are those that the file declares; those made by command are
	// no part of a definition.
	Reservations []CapacityReservation `json:"reservations,omitempty"`
	Policy       InstallationPolicy    `json:"policy,omitzero"`
	// Removed lists the fleets that a removed block takes away: they are drained
	// and then forgotten.
	Removed []FleetAddress `json:"removed,omitempty"`
	// Lock is the text of the plugin lock: which binaries serve the providers.
	// It is kept with the definition, since a daemon starts plugins without the
	// files.
	Lock string `json:"lock,omitempty"`
	// Moved lists the fleets that have another address than before. What leads
	// to one address stands together, the longest way first.
	Moved []Move `json:"moved,omitempty"`
}

// ManagerSettings says where agents reach the manager.
type ManagerSettings struct {
	// Listen is host:port. Empty: 127.0.0.1 and a port that is chosen at the
	// first start and stored.
	Listen string `json:"listen,omitempty"`
	// Advertise is the https URL that bootstraps carry. Empty: made from Listen.
	Advertise string `json:"advertise,omitempty"`
	// Agents is the folder of agent binaries. Empty: the manager's own folder.
	Agents string `json:"agents,omitempty"`
}

// PluginRequirement is one entry of required_plugins.
type PluginRequirement struct {
	Name          string   `json:"name"`
	Source        string   `json:"source,omitempty"`
	Version       string   `json:"version,omitempty"`
	Env           []string `json:"env,omitempty"`
	AllowUnsigned bool     `json:"allow_unsigned,omitempty"`
}

// Provider is one provider block. Config is the plugin's own body as canonical
// JSON, checked against the plugin's schema; where it has a secret stands the
// JSON of a SecretReference.
type Provider struct {
	Address ProviderAddress `json:"address"`
	// Advertise is the https URL at which this provider's hosts reach the manager,
	// where that isn't the one of ManagerSettings.
	Advertise string          `json:"advertise,omitempty"`
	Config    json.RawMessage `json:"config"`
	// Assets is the inventory of a provider whose hosts are joined by a person,
	// as the plugin lists it from Config; empty for all others.
	Assets []Asset `json:"assets,omitempty"`
}

// AdvertiseFor is the https URL at which a provider's hosts reach the manager;
// empty: it is made from what the manager listens on.
func (d Definition) AdvertiseFor(address ProviderAddress) string {
	for _, p := range d.Providers {
		if p.Address == address && p.Advertise != "" {
			return p.Advertise
		}
	}
	return d.Manager.Advertise
}

// Image is an immutable image reference (spec §58). The zero value means that the
// provider has no images.
type Image struct {
	Name string `json:"name,omitempty"`
	// Digest is the declared content digest.
	Digest string `json:"digest,omitempty"`
	// Bootstrap is the kind of first-boot document ("cloud-init", …).
	Bootstrap string `json:"bootstrap,omitempty"`
	// Ref is the reference that the fleet's provider understands.
	Ref string `json:"ref,omitempty"`
}

// ID is the image's identity when it boots the given agent version (spec §59). The
// name is a mutable alias (spec §221) and not part of it.
func (i Image) ID(agentVersion string) RunnerImageID {
	return RunnerImageID(Digest([]string{i.Digest, i.Ref, i.Bootstrap, agentVersion}))
}

// Platform is what an image runs on, in the names of a fleet file: os is
// "linux", "darwin" or "windows", arch is "x86_64" or "arm64".
type Platform struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

// String is the platform for people: "linux/x86_64".
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// maybe says that each name is one of a platform's, or isn't said.
func (p Platform) maybe() bool {
	return slices.Contains([]string{"", "linux", "darwin", "windows"}, p.OS) &&
		slices.Contains([]string{"", "x86_64", "arm64"}, p.Arch)
}

// Target is the platform in Go's names, as agent binaries are named: "linux-amd64".
func (p Platform) Target() string {
	arch := p.Arch
	if arch == "x86_64" {
		arch = "amd64"
	}
	return p.OS + "-" + arch
}

// PlatformOf turns Go's names into a Platform.
func PlatformOf(goos, goarch string) Platform {
	if goarch == "amd64" {
		goarch = "x86_64"
	}
	return Platform{OS: goos, Arch: goarch}
}

// ResourceCapacity is what one instance offers: thousandths of a cpu, bytes, and
// the number of jobs that may run side by side.
type ResourceCapacity struct {
	CPUMilli    int64            `json:"cpu_milli,omitempty"`
	MemoryBytes int64            `json:"memory_bytes,omitempty"`
	DiskBytes   int64            `json:"disk_bytes,omitempty"`
	Slots       int64            `json:"slots,omitempty"`
	GPU         int64            `json:"gpu,omitempty"`
	Named       map[string]int64 `json:"named,omitempty"`
}

// CapacityClass describes equivalent schedulable capacity (spec §8).
type CapacityClass struct {
	Name         string           `json:"name"`
	Platform     Platform         `json:"platform"`
	Capabilities []string         `json:"capabilities,omitempty"`
	Resources    ResourceCapacity `json:"resources"`
	// Trust is the runner trust class. It comes from here and never from an agent.
	Trust string `json:"trust"`
	// What jobs may require besides (spec §24). Toolchain is sorted.
	Toolchain    []string `json:"toolchain,omitempty"`
	Device       string   `json:"device,omitempty"`
	Isolation    string   `json:"isolation,omitempty"`
	Signing      bool     `json:"signing,omitempty"`
	Confidential bool     `json:"confidential,omitempty"`
}

// attestable are the capabilities that a host can't show by itself: an agent can
// say that it has them and be wrong, or lie.
var attestable = []string{"confidential", "gpu", "kvm", "signing"}

// Attestable says whether a capability counts only where the provider vouches for
// it, and never only by a probe of the host.
func Attestable(capability string) bool { return slices.Contains(attestable, capability) }

// Attested are the capabilities of the class that its hosts' provider must vouch
// for, sorted.
func (c CapacityClass) Attested() []string {
	var out []string
	for _, capability := range attestable {
		asked := slices.Contains(c.Capabilities, capability) || capability == "confidential" && c.Confidential ||
			capability == "signing" && c.Signing || capability == "gpu" && c.Resources.GPU > 0
		if asked {
			out = append(out, capability)
		}
	}
	return out
}

// ID is the class's identity (spec §7); the name is not part of it.
func (c CapacityClass) ID() CapacityClassID {
	c.Name = ""
	return CapacityClassID(Digest(c))
}

// RunnerFleet is one fleet block (spec §10) with its references resolved.
type RunnerFleet struct {
	Address  FleetAddress    `json:"address"`
	Class    CapacityClass   `json:"class"`
	Image    Image           `json:"image"`
	Provider ProviderAddress `json:"provider"`
	// Scheduler is whose jobs run here; empty: none, and the size is fixed.
	Scheduler SchedulerAddress `json:"scheduler,omitempty"`
	Lifetime  LifetimeClass    `json:"lifetime_class,omitempty"`
	// Protected fleets sign: they neither scale by themselves nor go to zero,
	// and no override takes their hosts away (spec §18).
	Protected bool `json:"protected,omitempty"`
	// Joined is the plugin's word that its hosts exist and a person joins each:
	// nothing that the manager could do would make one.
	Joined bool `json:"joined,omitempty"`
	// Market is the plugin's word that it lists offers: an instance is made of one
	// of them and of nothing else.
	Market bool `json:"market,omitempty"`
	// Batch is how many instances one call of the provider may make; less than 2: one
	// call makes one.
	Batch int        `json:"batch,omitempty"`
	Scope FleetScope `json:"scope,omitzero"`
	// Instance is the plugin's instance body as canonical JSON.
	Instance json.RawMessage `json:"instance"`
	// Immutable is the part of Instance that the plugin's schema marks
	// immutable, as canonical JSON: a change of it replaces instances.
	Immutable json.RawMessage `json:"immutable,omitempty"`
	Placement PlacementPolicy `json:"placement,omitzero"`
	Scaling   ScalingPolicy   `json:"scaling"`
	Rollout   RolloutPolicy   `json:"rollout,omitzero"`
	Cost      CostPolicy      `json:"cost,omitzero"`
	Forecast  Forecast        `json:"forecast,omitzero"`
	Runner    RunnerPolicy    `json:"runner"`
	Timeouts  Timeouts        `json:"timeouts"`
	Admission AdmissionPolicy `json:"admission"`
}

// InstanceDigest identifies what replaces an instance when it changes: the
// immutable part of the body. The image has its own identity.
func (f RunnerFleet) InstanceDigest() string { return DigestBytes(f.Immutable) }

// ScalingPolicy bounds a fleet's size (spec §13).
type ScalingPolicy struct {
	Min         int  `json:"min"`
	Max         int  `json:"max"`
	Warm        int  `json:"warm"`
	ScaleToZero bool `json:"scale_to_zero,omitempty"`
	// MaxWait is how long a job may wait for a host where there is none; 0: it
	// isn't said.
	MaxWait time.Duration `json:"max_wait,omitempty"`
	ScaleUp ScaleUpPolicy `json:"scale_up,omitzero"`
	// ScaleDown has a grace; it is empty only in what an earlier version stored.
	ScaleDown ScaleDownPolicy `json:"scale_down,omitzero"`
	// Schedules are sorted by name.
	Schedules []ScalingSchedule `json:"schedules,omitempty"`
}

// RunnerPolicy says what runs on an admitted host and for how long (spec §140). No
// limit means persistent.
type RunnerPolicy struct {
	// Command is one job where there is no scheduler; it is run repeatedly
	// until a limit is reached or the runner is drained.
	Command []string          `json:"command,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	// User is the OS user that jobs run as; empty: the agent chooses.
	User string `json:"user,omitempty"`
	// Cleanup runs between jobs; a host where it fails is quarantined (spec §144, §145).
	Cleanup []string      `json:"cleanup,omitempty"`
	MaxJobs int           `json:"max_jobs,omitempty"`
	MaxAge  time.Duration `json:"max_age,omitempty"`
}

// Timeouts are the deadlines out of each state of an instance. Zero values are
// not valid: config fills in DefaultTimeouts.
type Timeouts struct {
	Provision  time.Duration `json:"provision"`
	Boot       time.Duration `json:"boot"`
	Enroll     time.Duration `json:"enroll"`
	Heartbeat  time.Duration `json:"heartbeat"`
	Drain      time.Duration `json:"drain"`
	Terminate  time.Duration `json:"terminate"`
	Quarantine time.Duration `json:"quarantine"`
	LostGrace  time.Duration `json:"lost_grace"`
	MaxOffline time.Duration `json:"max_offline"`
}

// DefaultTimeouts are used where a fleet file is silent.
func DefaultTimeouts() Timeouts {
	return Timeouts{
		Provision:  10 * time.Minute,
		Boot:       5 * time.Minute,
		Enroll:     3 * time.Minute,
		Heartbeat:  2 * time.Minute,
		Drain:      2 * time.Hour,
		Terminate:  15 * time.Minute,
		Quarantine: 24 * time.Hour,
		LostGrace:  15 * time.Minute,
		MaxOffline: 7 * 24 * time.Hour,
	}
}

// AdmissionPolicy says what a host must show before it is Verified.
type AdmissionPolicy struct {
	// JobIsolation is "required" or "none": whether the agent must be able to
	// run jobs as another OS user that can't reach the agent's files.
	JobIsolation string `json:"job_isolation"`
	// MatchAddress makes the agent's source address part of the provider
	// cross-check instead of only the evidence.
	MatchAddress bool `json:"match_address,omitempty"`
	// Identity is "required" or "none": whether an agent enrolls only with evidence
	// of which instance its host is, verified by the provider's plugin.
	Identity string `json:"identity,omitempty"`
}

// RequiresIdentity says whether hosts enroll only with verified evidence.
func (p AdmissionPolicy) RequiresIdentity() bool { return p.Identity == IdentityRequired }

// Asks says whether the policy asks for something that another didn't.
func (p AdmissionPolicy) Asks(beyond AdmissionPolicy) bool {
	return p.JobIsolation != JobIsolationNone && beyond.JobIsolation == JobIsolationNone ||
		p.MatchAddress && !beyond.MatchAddress ||
		p.RequiresIdentity() && !beyond.RequiresIdentity()
}

// Values of AdmissionPolicy.JobIsolation.
const (
	JobIsolationRequired = "required"
	JobIsolationNone     = "none"
)

// Values of AdmissionPolicy.Identity.
const (
	IdentityRequired = "required"
	IdentityNone     = "none"
)

// FleetOperationalState is what an operator allows the loop to do (spec §133).
type FleetOperationalState string

// The operational states.
const (
	FleetActive      FleetOperationalState = "active"
	FleetScaleUpOnly FleetOperationalState = "scale_up_only"
	FleetFrozen      FleetOperationalState = "frozen"
	FleetDraining    FleetOperationalState = "draining"
)

// ManagedFleet is a fleet as the store knows it: its declaration bound to a
// stable id.
type ManagedFleet struct {
	ID RunnerFleetID `json:"id"`
	RunnerFleet
	Operational FleetOperationalState `json:"operational"`
	// Serial is the definition serial that last changed the fleet.
	Serial int64 `json:"serial"`
}
