package planner

import (
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// miss is the first hard requirement that a fleet doesn't meet, in the order of
// checks: the later, the nearer the fleet was. The zero value is not a miss.
type miss struct {
	check  int
	reason reason.Detail
}

func (m miss) ok() bool { return m.reason == nil }

// eligible compares a group of jobs with a fleet, requirement by requirement
// (spec §24, §28), and then with what the installation's policy says. Nothing is relaxed,
// and what the class doesn't say it doesn't have (spec §25, §242).
func eligible(policy *fleet.InstallationPolicy, d *fleet.QueuedDemand, f *fleet.ManagedFleet) miss {
	for n, check := range eligibilityChecks {
		if why := check(d, f); why != nil {
			return miss{check: n, reason: why}
		}
	}
	for n, check := range policyChecks {
		if why := check(policy, d, f); why != nil {
			return miss{check: len(eligibilityChecks) + n, reason: why}
		}
	}
	return miss{}
}

// eligibilityChecks go from what a fleet is for good to what it is just now, so
// that the nearest miss is the one that is easiest to mend. Each returns why the
// fleet can't take the jobs, nil if it can.
var eligibilityChecks = []func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail{
	func(d *fleet.QueuedDemand, _ *fleet.ManagedFleet) reason.Detail {
		if unknown := d.Requirement.Unknown; len(unknown) > 0 {
			return reason.RequirementUnknown{Requirements: reason.ListOf(unknown...)}
		}
		return nil
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		switch r := d.Requirement; {
		case r.Queue == "" && r.Class == "":
			return nil
		case r.Class == "":
			return reason.QueueUnmapped{Queue: r.Queue}
		case r.Class != f.Class.Name:
			return reason.QueueClassDiffers{Queue: r.Queue, Required: r.Class, Has: f.Class.Name}
		}
		return nil
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		return differs("os", d.Requirement.OS, f.Class.Platform.OS)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		return differs("arch", d.Requirement.Arch, f.Class.Platform.Arch)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		return differs("trust", d.Requirement.Trust, f.Class.Trust)
	},
	// Signing hosts are for jobs that sign, and for no others (spec §18).
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		switch {
		case d.Requirement.Signing && !f.Class.Signing:
			return reason.SigningRequired{}
		case !d.Requirement.Signing && f.Class.Signing:
			return reason.SigningOnly{}
		}
		return nil
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		if d.Requirement.Confidential && !f.Class.Confidential {
			return reason.ConfidentialRequired{}
		}
		return nil
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		return differs("device", d.Requirement.Device, f.Class.Device)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		return differs("isolation", d.Requirement.Isolation, f.Class.Isolation)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		return lacks("capability", d.Requirement.Capabilities, f.Class.Capabilities)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		return lacks("toolchain", d.Requirement.Toolchain, f.Class.Toolchain)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		return tooSmall(d.Resources, f.Class.Resources)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		switch s := f.Scope; {
		case s.Project != "" && s.Project != d.Requirement.Project:
			return reason.OutOfScope{Scope: reason.Scope{Project: s.Project}}
		case s.Tenant != "" && s.Tenant != d.Requirement.Tenant:
			return reason.OutOfScope{Scope: reason.Scope{Tenant: s.Tenant}}
		}
		return nil
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		return outside(d.Requirement.Regions, f)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		if f.Lifetime == fleet.LifetimePreemptible && !d.PreemptibleAllowed {
			return reason.PreemptibleDisallowed{}
		}
		return nil
	},
	func(_ *fleet.QueuedDemand, f *fleet.ManagedFleet) reason.Detail {
		if f.Operational == fleet.FleetDraining {
			return reason.FleetRemoved{}
		}
		return nil
	},
}

// differs says that a job wants another value. Only an empty wish is met by any.
func differs(attribute, wanted, has string) reason.Detail {
	if wanted == "" || wanted == has {
		return nil
	}
	return reason.RequirementDiffers{Attribute: attribute, Required: wanted, Has: has}
}

// lacks says which of the wanted words are missing.
func lacks(attribute string, wanted, has []string) reason.Detail {
	var missing []string
	for _, word := range wanted {
		if !slices.Contains(has, word) {
			missing = append(missing, word)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return reason.RequirementMissing{Attribute: attribute, Missing: reason.ListOf(missing...)}
}

// tooSmall says which resource one job alone would exceed. A class that is
// silent about a resource offers none of it.
func tooSmall(job, host fleet.ResourceCapacity) reason.Detail {
	for _, one := range dimensions(job, host) {
		if one.job > one.host {
			return reason.JobTooLarge{Job: reason.Resource{Name: one.name, Amount: one.job}, Has: one.host}
		}
	}
	return nil
}

// outside says that a fleet may use regions where the jobs must not run (spec §111,
// §212).
func outside(wanted []string, f *fleet.ManagedFleet) reason.Detail {
	if len(wanted) == 0 {
		return nil
	}
	if len(f.Placement.Regions) == 0 {
		return reason.RegionsDiffer{Required: reason.ListOf(wanted...)}
	}
	for _, region := range f.Placement.Regions {
		if !slices.Contains(wanted, region) {
			return reason.RegionsDiffer{Required: reason.ListOf(wanted...), Uses: region}
		}
	}
	return nil
}
