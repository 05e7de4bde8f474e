package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// InstallationPolicy restricts what fleets may be declared, and what they may be
// used for (spec §175). Lists are sorted; an empty one restricts nothing. It only
// restricts: it makes nothing eligible.
type InstallationPolicy struct {
	Providers []string        `json:"providers,omitempty"`
	Regions   []string        `json:"regions,omitempty"`
	Lifetimes []LifetimeClass `json:"lifetimes,omitempty"`
	// NoGPU refuses classes with gpus.
	NoGPU bool `json:"no_gpu,omitempty"`
	// HostileIsolation is the isolation that hostile work needs (spec §216); "":
	// DefaultHostileIsolation.
	HostileIsolation string `json:"hostile_isolation,omitempty"`
	// Entitlements are sorted by name.
	Entitlements []Entitlement `json:"entitlements,omitempty"`
}

// DefaultHostileIsolation is what hostile work needs where the policy is silent: a
// machine of its own kind (spec §216). Silence isn't consent to less.
const DefaultHostileIsolation = "vm"

// IsolationForHostile is the isolation that a class must have to run hostile work.
func (p InstallationPolicy) IsolationForHostile() string {
	return cmp.Or(p.HostileIsolation, DefaultHostileIsolation)
}

// RunsHostile says that hosts of a class may run hostile work. Isolations have no
// order here: another one isn't known to be as strong, whatever it is called.
func (p InstallationPolicy) RunsHostile(c CapacityClass) bool {
	return c.Isolation == p.IsolationForHostile()
}

// Entitlement limits who may use a capacity class, and how many of its instances
// there may be (spec §173). A class that any entitlement names is premium: only those
// that an entitlement names get it. It grants nothing that a requirement or a scope
// refuses (spec §174).
type Entitlement struct {
	Name string `json:"name"`
	// Class is the name of the capacity class.
	Class string `json:"class"`
	// Tenants and Projects are whose jobs may use it; sorted, and not both empty.
	Tenants  []string `json:"tenants,omitempty"`
	Projects []string `json:"projects,omitempty"`
	// Max is how many instances there may be for them; 0: no limit.
	Max int `json:"max,omitempty"`
}

// Names says that the entitlement is one for the tenant or the project; empty ones
// match nothing.
func (e Entitlement) Names(tenant, project string) bool {
	return tenant != "" && slices.Contains(e.Tenants, tenant) || project != "" && slices.Contains(e.Projects, project)
}

// Serves says that a fleet of the scope may run jobs of somebody whom the
// entitlement names. Which project is whose the manager doesn't know: a tenant's
// fleet may run any project's jobs that are the tenant's, too.
func (e Entitlement) Serves(s FleetScope) bool {
	switch {
	case s.Tenant != "":
		return len(e.Projects) > 0 || slices.Contains(e.Tenants, s.Tenant)
	case s.Project != "":
		return len(e.Tenants) > 0 || slices.Contains(e.Projects, s.Project)
	}
	return true
}

// EntitlementsTo are the entitlements to a class; none: it is everybody's.
func (p InstallationPolicy) EntitlementsTo(class string) []Entitlement {
	var out []Entitlement
	for _, e := range p.Entitlements {
		if e.Class == class {
			out = append(out, e)
		}
	}
	return out
}

// PolicyRefusal is one thing about a fleet that the policy doesn't allow.
type PolicyRefusal struct {
	// About is the attribute of the fleet that it is about, such as "provider" or
	// "placement.regions".
	About string
	// What the policy doesn't allow, as in "The policy doesn't allow …".
	What string
	// Advice is what would be allowed, in whole sentences.
	Advice string
}

// Refusals are what the policy doesn't allow about a fleet; none: it is allowed.
func (p InstallationPolicy) Refusals(f RunnerFleet) (out []PolicyRefusal) {
	instead := func(allowed []string) string {
		return fmt.Sprintf("It allows: %s. Choose one of them, or change the policy block.", strings.Join(allowed, ", "))
	}
	if len(p.Providers) > 0 && f.Provider != "" && !slices.Contains(p.Providers, string(f.Provider)) &&
		!slices.Contains(p.Providers, f.Provider.Plugin()) {
		out = append(out, PolicyRefusal{"provider", fmt.Sprintf("the provider %s", f.Provider), instead(p.Providers)})
	}
	if len(p.Lifetimes) > 0 && !slices.Contains(p.Lifetimes, cmp.Or(f.Lifetime, LifetimeStable)) {
		var allowed []string
		for _, one := range p.Lifetimes {
			allowed = append(allowed, string(one))
		}
		out = append(
			out,
			PolicyRefusal{
				"lifetime_class",
				fmt.Sprintf("the lifetime %s", cmp.Or(f.Lifetime, LifetimeStable)),
				instead(allowed),
			},
		)
	}
	if p.NoGPU && f.Class.Resources.GPU > 0 {
		out = append(out, PolicyRefusal{
			"capacity_class",
			"gpus",
			fmt.Sprintf(
				"The class %q has %d. Choose another class, or change the policy block.",
				f.Class.Name,
				f.Class.Resources.GPU,
			),
		})
	}
	return append(out, p.regionRefusals(f)...)
}

// regionRefusals: where regions are restricted a fleet has to say in which its
// hosts are. Nothing else can: where a provider without a market creates hosts isn't known.
func (p InstallationPolicy) regionRefusals(f RunnerFleet) (out []PolicyRefusal) {
	if len(p.Regions) == 0 {
		return nil
	}
	for _, region := range f.Placement.Regions {
		if !slices.Contains(p.Regions, region) {
			out = append(out, PolicyRefusal{"placement.regions", fmt.Sprintf("the region %.60q", region),
				fmt.Sprintf("It allows: %s. Change placement.regions, or the policy block.", strings.Join(p.Regions, ", "))})
		}
	}
	if len(f.Placement.Regions) == 0 {
		out = append(out, PolicyRefusal{
			"placement.regions",
			"a fleet that doesn't say in which region its instances are",
			fmt.Sprintf(
				"Its provider lists no offers to choose from, so only you know. Write placement { regions = [%q] }, with the "+
					"region that it is in. The policy allows: %s.",
				p.Regions[0],
				strings.Join(p.Regions, ", "),
			),
		})
	}
	return out
}
