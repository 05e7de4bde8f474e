package planner

import (
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// miss is the first hard requirement that a fleet doesn't meet, in the order of
// checks: the later, the nearer the fleet was. The zero value is no miss.
type miss struct {
	check  int
	reason string
}

func (m miss) ok() bool { return m.reason == "" }

// eligible compares a group of jobs with a fleet, requirement by requirement
// [24, 28], and then with what the installation's policy says. Nothing is relaxed,
// and what the class doesn't say it doesn't have [25, 242].
func eligible(policy *fleet.InstallationPolicy, d *fleet.QueuedDemand, f *fleet.ManagedFleet) miss {
	for n, check := range eligibilityChecks {
		if reason := check(d, f); reason != "" {
			return miss{check: n, reason: reason}
		}
	}
	for n, check := range policyChecks {
		if reason := check(policy, d, f); reason != "" {
			return miss{check: len(eligibilityChecks) + n, reason: reason}
		}
	}
	return miss{}
}

// eligibilityChecks go from what a fleet is for good to what it is just now, so
// that the nearest miss is the one that is easiest to mend. Each returns why the
// fleet can't take the jobs, "" if it can.
var eligibilityChecks = []func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string{
	func(d *fleet.QueuedDemand, _ *fleet.ManagedFleet) string {
		if unknown := d.Requirement.Unknown; len(unknown) > 0 {
			return sentence("the jobs require %s, which this version doesn't understand", quoted(unknown))
		}
		return ""
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string {
		switch r := d.Requirement; {
		case r.Queue == "" && r.Class == "":
			return ""
		case r.Class == "":
			return sentence("no queue block of its scheduler maps the queue %.60q", r.Queue)
		case r.Class != f.Class.Name:
			return sentence("the queue %.60q is mapped to the class %.60q, and it has %.60q", r.Queue, r.Class, f.Class.Name)
		}
		return ""
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string {
		return differs("os", d.Requirement.OS, f.Class.Platform.OS)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string {
		return differs("arch", d.Requirement.Arch, f.Class.Platform.Arch)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string {
		return differs("trust", d.Requirement.Trust, f.Class.Trust)
	},
	// Signing hosts are for jobs that sign, and for no others [18].
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string {
		switch {
		case d.Requirement.Signing && !f.Class.Signing:
			return "the jobs sign, and its class isn't for signing"
		case !d.Requirement.Signing && f.Class.Signing:
			return "its class is for signing, and the jobs don't sign"
		}
		return ""
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string {
		if d.Requirement.Confidential && !f.Class.Confidential {
			return "the jobs require confidential compute, and its class has none"
		}
		return ""
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string {
		return differs("device", d.Requirement.Device, f.Class.Device)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string {
		return differs("isolation", d.Requirement.Isolation, f.Class.Isolation)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string {
		return lacks("capability", d.Requirement.Capabilities, f.Class.Capabilities)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string {
		return lacks("toolchain", d.Requirement.Toolchain, f.Class.Toolchain)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string {
		return tooSmall(d.Resources, f.Class.Resources)
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string {
		switch s := f.Scope; {
		case s.Project != "" && s.Project != d.Requirement.Project:
			return sentence("it is for the project %q alone", s.Project)
		case s.Tenant != "" && s.Tenant != d.Requirement.Tenant:
			return sentence("it is for the tenant %q alone", s.Tenant)
		}
		return ""
	},
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string { return outside(d.Requirement.Regions, f) },
	func(d *fleet.QueuedDemand, f *fleet.ManagedFleet) string {
		if f.Lifetime == fleet.LifetimePreemptible && !d.PreemptibleAllowed {
			return "its hosts can be taken away, and the jobs don't allow that"
		}
		return ""
	},
	func(_ *fleet.QueuedDemand, f *fleet.ManagedFleet) string {
		if f.Operational == fleet.FleetDraining {
			return "it is being removed"
		}
		return ""
	},
}

// differs says that a job wants another value. Only an empty wish is met by any.
func differs(what, wanted, has string) string {
	if wanted == "" || wanted == has {
		return ""
	}
	if has == "" {
		return sentence("the jobs require %s %q, and its class says none", what, wanted)
	}
	return sentence("the jobs require %s %q, and it has %q", what, wanted, has)
}

// lacks says which of the wanted words are missing.
func lacks(what string, wanted, has []string) string {
	var missing []string
	for _, word := range wanted {
		if !slices.Contains(has, word) {
			missing = append(missing, word)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return sentence("the jobs require the %s %s, and its class hasn't got it", what, quoted(missing))
}

// tooSmall says which resource one job alone would exceed. A class that is
// silent about a resource offers none of it.
func tooSmall(job, host fleet.ResourceCapacity) string {
	for _, one := range dimensions(job, host) {
		if one.job > one.host {
			if one.host == 0 {
				return sentence("one job takes %s, and its class says nothing about %s", one.text(one.job), one.name)
			}
			return sentence("one job takes %s, and a host has %s", one.text(one.job), one.text(one.host))
		}
	}
	return ""
}

// outside says that a fleet may use regions where the jobs must not run [111,
// 212].
func outside(wanted []string, f *fleet.ManagedFleet) string {
	if len(wanted) == 0 {
		return ""
	}
	if len(f.Placement.Regions) == 0 {
		return sentence("the jobs must stay in %s, and it may use any region", quoted(wanted))
	}
	for _, region := range f.Placement.Regions {
		if !slices.Contains(wanted, region) {
			return sentence("the jobs must stay in %s, and it may use %q", quoted(wanted), region)
		}
	}
	return ""
}

// quoted is a short list of words for a sentence.
func quoted(words []string) string {
	const most = 4
	var out []string
	for n, word := range words {
		if n == most {
			out = append(out, sentence("%d more", len(words)-most))
			break
		}
		out = append(out, sentence("%.60q", word))
	}
	return strings.Join(out, ", ")
}
