package queue_test

import (
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

func TestARunnerGetsAJobOnlyIfItMeetsEveryRequirement(t *testing.T) {
	full := forgeyard.Admit{
		OS:           "linux",
		Arch:         "x86_64",
		Capabilities: []string{"docker", "kvm"},
		Trust:        "standard",
		Region:       "eu",
		Toolchain:    []string{"go1.26"},
		Device:       "pixel",
		Isolation:    "vm",
		Confidential: true,
		Resources: forgeyard.Resources{
			CPUMilli:    2000,
			MemoryBytes: 4 << 30,
			DiskBytes:   10,
			GPU:         1,
			Named:       map[string]int64{"license": 1},
		},
	}
	with := func(change func(*forgeyard.Admit)) forgeyard.Admit {
		a := full
		change(&a)
		return a
	}
	want := func(r forgeyard.Requirement) queue.Submission { return queue.Submission{Requirement: r} }
	takes := func(r forgeyard.Resources) queue.Submission { return queue.Submission{Resources: r} }
	for name, test := range map[string]struct {
		has  forgeyard.Admit
		job  queue.Submission
		gets bool
	}{
		"a job that asks for nothing": {full, want(forgeyard.Requirement{}), true},
		"a job that asks for all there is": {full,
			want(forgeyard.Requirement{OS: "linux", Arch: "x86_64", Capabilities: []string{"kvm", "docker"}, Trust: "standard",
				Regions: []string{"us", "eu"}, Toolchain: []string{"go1.26"}, Device: "pixel", Isolation: "vm",
				Confidential: true}), true},
		"another system":       {full, want(forgeyard.Requirement{OS: "windows"}), false},
		"another architecture": {full, want(forgeyard.Requirement{Arch: "arm64"}), false},
		"a capability too many": {full, want(forgeyard.Requirement{Capabilities: []string{"docker", "gpu"}}),
			false},
		"more trust":     {full, want(forgeyard.Requirement{Trust: "protected"}), false},
		"another region": {full, want(forgeyard.Requirement{Regions: []string{"us"}}), false},
		"a region, and no one knows where": {with(func(a *forgeyard.Admit) {
			a.Region = ""
		}), want(forgeyard.Requirement{Regions: []string{"eu"}}), false},
		"another toolchain":                   {full, want(forgeyard.Requirement{Toolchain: []string{"go1.27"}}), false},
		"another device":                      {full, want(forgeyard.Requirement{Device: "iphone"}), false},
		"another isolation":                   {full, want(forgeyard.Requirement{Isolation: "container"}), false},
		"signing on a host that isn't for it": {full, want(forgeyard.Requirement{Signing: true}), false},
		"no signing on a host that is for it": {with(func(a *forgeyard.Admit) {
			a.Signing = true
		}), want(forgeyard.Requirement{}), false},
		"signing on a host for it": {with(func(a *forgeyard.Admit) {
			a.Signing = true
		}), want(forgeyard.Requirement{Signing: true}), true},
		"hostile where the policy allows it": {with(func(a *forgeyard.Admit) {
			a.Hostile = true
		}), want(forgeyard.Requirement{Hostile: true}), true},
		"hostile on any other host": {full, want(forgeyard.Requirement{Hostile: true}), false},
		"confidential on an open host": {with(func(a *forgeyard.Admit) {
			a.Confidential = false
		}), want(forgeyard.Requirement{Confidential: true}), false},
		"a stranger on a tenant's host": {with(func(a *forgeyard.Admit) {
			a.Tenant = "acme"
		}), want(forgeyard.Requirement{Tenant: "other"}), false},
		"no one's job on a tenant's host": {with(func(a *forgeyard.Admit) {
			a.Tenant = "acme"
		}), want(forgeyard.Requirement{}), false},
		"a tenant's job on its own host": {with(func(a *forgeyard.Admit) {
			a.Tenant = "acme"
		}), want(forgeyard.Requirement{Tenant: "acme"}), true},
		"a tenant's job on a host for all": {full, want(forgeyard.Requirement{Tenant: "acme"}), true},
		"another project": {with(func(a *forgeyard.Admit) {
			a.Project = "one"
		}), want(forgeyard.Requirement{Project: "two"}), false},
		"a stable job on a host that may go": {with(func(a *forgeyard.Admit) {
			a.Preemptible = true
		}), want(forgeyard.Requirement{}), false},
		"a job that may be taken away on it": {with(func(a *forgeyard.Admit) {
			a.Preemptible = true
		}), queue.Submission{PreemptibleAllowed: true}, true},
		"exactly what the host has": {full, takes(full.Resources), true},
		"more cpu":                  {full, takes(forgeyard.Resources{CPUMilli: 2001}), false},
		"more memory":               {full, takes(forgeyard.Resources{MemoryBytes: 5 << 30}), false},
		"more disk":                 {full, takes(forgeyard.Resources{DiskBytes: 11}), false},
		"more gpus":                 {full, takes(forgeyard.Resources{GPU: 2}), false},
		"a named resource that it has not": {full, takes(forgeyard.Resources{Named: map[string]int64{"other": 1}}),
			false},
		"more of a named resource than it has": {full, takes(forgeyard.Resources{Named: map[string]int64{"license": 2}}),
			false},
		"a size on a host that says none of it": {with(func(a *forgeyard.Admit) {
			a.Resources = forgeyard.Resources{}
		}), takes(forgeyard.Resources{CPUMilli: 1}), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.admit("r1", test.has)
			w.submit(test.job)
			if _, gets := w.lease("r1", "l1"); gets != test.gets {
				t.Errorf("it gets the job: %v, want %v", gets, test.gets)
			}
		})
	}
}
