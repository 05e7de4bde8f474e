package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/suggestion"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// readPolicy reads the policy block.
func (l *loader) readPolicy(block *body) {
	if block == nil {
		return
	}
	var written policyBlock
	block.read(&written)
	block.close()
	for _, name := range written.Providers {
		plugin, _, exact := strings.Cut(name, ".")
		known := l.pluginNames()
		if exact && slices.Contains(known, plugin) {
			plugin, known = name, l.scope.Names["provider"]
		}
		if !slices.Contains(known, plugin) {
			block.Warn(
				block.at("providers"),
				block.where,
				fmt.Sprintf("Unknown provider %q", diagnostic.Clip(name)),
				strings.TrimSpace(
					"Providers are named by plugin, or by PLUGIN.NAME of a block. "+suggestion.For(plugin, "providers", known),
				),
			)
		}
	}
	for i, entitlement := range written.Entitlements {
		if len(entitlement.Tenants)+len(entitlement.Projects) == 0 {
			b := block.inner["entitlement"][i]
			b.Fail(
				b.header,
				b.where,
				"The entitlement names no tenant and no project",
				"A class that an entitlement names is only for the tenants and projects that it lists. Write tenants = "+
					"[\"NAME\"] or projects = [\"NAME\"].",
			)
		}
	}
	l.definition.Policy = written.policy()
}

// policy is what the block means.
func (p *policyBlock) policy() fleet.InstallationPolicy {
	result := fleet.InstallationPolicy{
		Providers:        p.Providers,
		Regions:          p.Regions,
		NoGPU:            !p.GPU,
		HostileIsolation: p.HostileIsolation,
	}
	for _, one := range p.Lifetimes {
		result.Lifetimes = append(result.Lifetimes, fleet.LifetimeClass(one))
	}
	for _, one := range p.Entitlements {
		result.Entitlements = append(result.Entitlements, fleet.Entitlement(one))
	}
	slices.SortFunc(result.Entitlements, func(a, b fleet.Entitlement) int { return strings.Compare(a.Name, b.Name) })
	return result
}

// policyBlockOf is the block that means a policy.
func policyBlockOf(p fleet.InstallationPolicy) *policyBlock {
	block := &policyBlock{Providers: p.Providers, Regions: p.Regions, GPU: !p.NoGPU, HostileIsolation: p.HostileIsolation}
	for _, one := range p.Lifetimes {
		block.Lifetimes = append(block.Lifetimes, string(one))
	}
	for _, one := range p.Entitlements {
		block.Entitlements = append(block.Entitlements, entitlementBlock(one))
	}
	return block
}

// checkPolicy holds the fleets and queues against the installation's policy (spec §175),
// as far as the file itself shows what they are. Where the provider lists offers, a
// fleet that names no region is kept to those of the policy: the planner leaves out
// all other offers.
func (l *loader) checkPolicy(policy fleet.InstallationPolicy) {
	for n := range l.definition.Fleets {
		f := &l.definition.Fleets[n]
		if f.Market && len(f.Placement.Regions) == 0 {
			f.Placement.Regions = slices.Clone(policy.Regions)
		}
		block := l.fleetBlocks[f.Address]
		for _, refusal := range policy.Refusals(*f) {
			l.Fail(block.within(refusal.About), block.where, "The policy doesn't allow "+refusal.What, refusal.Advice)
		}
		entitled := policy.EntitlementsTo(f.Class.Name)
		if len(entitled) > 0 && !slices.ContainsFunc(entitled, func(e fleet.Entitlement) bool { return e.Serves(f.Scope) }) {
			l.Fail(
				block.within("scope"),
				block.where,
				fmt.Sprintf("The fleet's scope isn't entitled to the class %q", f.Class.Name),
				fmt.Sprintf(
					"The entitlements %s name others, so its instances would never get a job. Add the tenant or project of its "+
						"scope to one of them, or choose another class.",
					namesOf(entitled),
				),
			)
		}
	}
	for _, s := range l.definition.Schedulers {
		for _, q := range s.Queues {
			if q.Class.Name != "" {
				l.checkQueue(policy, s.Address, q)
			}
		}
	}
}

// checkQueue refuses a queue whose jobs could never run on the class that it is
// mapped to.
func (l *loader) checkQueue(policy fleet.InstallationPolicy, address fleet.SchedulerAddress, q fleet.SchedulerQueue) {
	body := l.schedulerBodies[address]
	if q.Hostile && !policy.RunsHostile(q.Class) {
		l.Fail(
			body.queueAt(q.Name),
			body.where,
			fmt.Sprintf("Hostile jobs can't run on the class %q", q.Class.Name),
			fmt.Sprintf(
				"They need isolation = %q, and the class has %s. Map the queue %q to a class that has it, or change "+
					"hostile_isolation of the policy block.",
				policy.IsolationForHostile(),
				orNone(q.Class.Isolation),
				q.Name,
			),
		)
	}
	entitled := policy.EntitlementsTo(q.Class.Name)
	if len(entitled) > 0 &&
		!slices.ContainsFunc(entitled, func(e fleet.Entitlement) bool { return e.Names(q.Tenant, q.Project) }) {
		l.Fail(
			body.queueAt(q.Name),
			body.where,
			fmt.Sprintf("The jobs of the queue %q aren't entitled to the class %q", q.Name, q.Class.Name),
			fmt.Sprintf(
				"The entitlements %s don't name its tenant or project. Set the queue's tenant or project, or map it to "+
					"another class.",
				namesOf(entitled),
			),
		)
	}
}

func orNone(word string) string {
	if word == "" {
		return "none"
	}
	return fmt.Sprintf("%q", word)
}

func namesOf(entitlements []fleet.Entitlement) string {
	var names []string
	for _, e := range entitlements {
		names = append(names, fmt.Sprintf("%q", e.Name))
	}
	return strings.Join(names, ", ")
}

// queueAt is where a scheduler's queue block begins.
func (p blockSource) queueAt(name string) hcl.Range {
	for _, block := range p.syntax.Blocks {
		if block.Type == "queue" && slices.Equal(block.Labels, []string{name}) {
			return block.DefRange()
		}
	}
	return p.header
}
