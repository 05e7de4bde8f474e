package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/forecast"
)

// checkFleet looks at what must fit together across the blocks of a fleet.
func (l *loader) checkFleet(block, scaling *body, f fleet.RunnerFleet) {
	if scaling == nil {
		return
	}
	if wait := f.Timeouts.Boot + f.Timeouts.Enroll; f.Scaling.MaxWait > 0 && wait > f.Scaling.MaxWait {
		l.warn(scaling.at("max_wait"), scaling.where, fmt.Sprintf("A host may take longer than max_wait: %s > %s", durationText(wait), durationText(f.Scaling.MaxWait)),
			"Where there is no host, a job waits for boot and enrollment, and timeouts allow them more. Shorten timeouts.boot and timeouts.enroll, raise max_wait, or keep a host with min = 1.")
	}
	l.checkForecast(block, f)
	if f.Protected {
		l.checkProtected(block, scaling, f)
	} else if f.Class.Signing {
		l.warn(block.at("capacity_class"), block.where, "A fleet that signs isn't protected",
			fmt.Sprintf("The class %q has signing = true. Hosts that hold signing keys shouldn't come and go with demand: write protected = true.", f.Class.Name))
	}
}

// checkForecast warns of a forecast of nothing: what jobs need is the scheduler's to
// say.
func (l *loader) checkForecast(block *body, f fleet.RunnerFleet) {
	if slices.Contains(forecast.Models(), f.Forecast) && !f.Protected && block.syntax.Attributes["scheduler"] == nil {
		l.warn(block.header, block.where, "forecast has no meaning without scheduler", "It is made from what the scheduler's jobs needed before. Write scheduler as well, or leave forecast out.")
	}
}

// checkProtected refuses what a protected fleet must not do [18].
func (l *loader) checkProtected(block, scaling *body, f fleet.RunnerFleet) {
	const why = "A protected fleet signs: its hosts neither come and go with demand nor belong to somebody else. "
	if f.Lifetime == fleet.LifetimePreemptible {
		l.fail(block.at("lifetime_class"), block.where, "A protected fleet can't be preemptible", why+"Write lifetime_class = \"stable\", or leave protected out.")
	}
	if f.Scaling.ScaleToZero {
		l.fail(scaling.at("scale_to_zero"), block.where, "A protected fleet can't go to zero", why+"Write min = 1, or leave protected out.")
	}
	if len(f.Scaling.Schedules) > 0 {
		l.fail(scaling.header, block.where, "A protected fleet can't have schedules", why+"Remove the schedule, or leave protected out.")
	}
	if f.Forecast != (fleet.Forecast{}) {
		l.fail(block.header, block.where, "A protected fleet can't follow a forecast", why+"Remove the forecast, or leave protected out.")
	}
}

// checkCurrencies: costs are compared among the fleets of a class, and nothing
// converts currencies.
func (l *loader) checkCurrencies() {
	type seen struct {
		currency string
		by       fleet.FleetAddress
	}
	first := map[fleet.CapacityClassID]seen{}
	ids := map[string]fleet.CapacityClassID{}
	for _, f := range l.definition.Fleets {
		money := f.Cost.Hourly
		for _, other := range []fleet.Money{f.Cost.MaxHourly, f.Cost.MaxDaily} {
			if money.IsZero() {
				money = other
			}
		}
		if money.IsZero() {
			continue
		}
		id, known := ids[f.Class.Name]
		if !known {
			id = f.Class.ID()
			ids[f.Class.Name] = id
		}
		before, found := first[id]
		if !found {
			first[id] = seen{money.Currency, f.Address}
			continue
		}
		if before.currency != money.Currency {
			block := l.fleetBlocks[f.Address]
			l.fail(block.header, block.where, fmt.Sprintf("Two currencies in one class: %s and %s", before.currency, money.Currency),
				fmt.Sprintf("The class %q also has %s, and nothing converts between currencies. Write all costs in one.", f.Class.Name, before.by))
		}
	}
}

// checkPolicy holds the fleets against the installation's policy [175], as far
// as the file itself shows what they are.
func (l *loader) checkPolicy(policy fleet.InstallationPolicy) {
	for _, f := range l.definition.Fleets {
		block := l.fleetBlocks[f.Address]
		refuse := func(attribute, what string, allowed []string) {
			l.fail(block.at(attribute), block.where, "The policy doesn't allow "+what,
				fmt.Sprintf("It allows: %s. Choose one of them, or change the policy block.", strings.Join(allowed, ", ")))
		}
		if len(policy.Providers) > 0 && f.Provider != "" && !slices.Contains(policy.Providers, string(f.Provider)) && !slices.Contains(policy.Providers, f.Provider.Plugin()) {
			refuse("provider", fmt.Sprintf("the provider %s", f.Provider), policy.Providers)
		}
		if len(policy.Lifetimes) > 0 && !slices.Contains(policy.Lifetimes, f.Lifetime) {
			var allowed []string
			for _, one := range policy.Lifetimes {
				allowed = append(allowed, string(one))
			}
			refuse("lifetime_class", fmt.Sprintf("the lifetime %s", f.Lifetime), allowed)
		}
		if policy.NoGPU && f.Class.Resources.GPU > 0 {
			l.fail(block.at("capacity_class"), block.where, "The policy doesn't allow gpus",
				fmt.Sprintf("The class %q has %d. Choose another class, or change the policy block.", f.Class.Name, f.Class.Resources.GPU))
		}
		for _, region := range f.Placement.Regions {
			if len(policy.Regions) > 0 && !slices.Contains(policy.Regions, region) {
				l.fail(block.header, block.where, fmt.Sprintf("The policy doesn't allow the region %q", clip(region)),
					fmt.Sprintf("It allows: %s. Change placement.regions, or the policy block.", strings.Join(policy.Regions, ", ")))
			}
		}
	}
}

// readPolicy reads the policy block.
func (l *loader) readPolicy(block *body) {
	if block == nil {
		return
	}
	var result fleet.InstallationPolicy
	result.Providers, _ = block.names("providers")
	for _, name := range result.Providers {
		plugin, _, exact := strings.Cut(name, ".")
		known := l.pluginNames()
		if exact && slices.Contains(known, plugin) {
			plugin, known = name, l.scope.names["provider"]
		}
		if !slices.Contains(known, plugin) {
			block.warn(block.at("providers"), block.where, fmt.Sprintf("There is no provider %q", clip(name)),
				strings.TrimSpace("Providers are named by plugin, or by PLUGIN.NAME of a block. "+didYouMean(plugin, known)))
		}
	}
	result.Regions, _ = block.names("regions")
	lifetimes, _ := block.names("lifetimes")
	allowed := []string{string(fleet.LifetimePreemptible), string(fleet.LifetimeStable)}
	for _, one := range lifetimes {
		if !slices.Contains(allowed, one) {
			block.fail(block.at("lifetimes"), block.where, fmt.Sprintf("There is no lifetime %q", clip(one)), didYouMean(one, allowed))
			continue
		}
		result.Lifetimes = append(result.Lifetimes, fleet.LifetimeClass(one))
	}
	if gpu, ok := block.boolean("gpu"); ok {
		result.NoGPU = !gpu
	}
	result.HostileIsolation, _ = block.word("hostile_isolation", "kind of isolation", "vm")
	block.close()
	l.definition.Policy = result
}
