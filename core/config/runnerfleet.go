package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// readFleet reads a fleet block: one fleet, or one for each key of for_each.
func (l *loader) readFleet(block *body) {
	if block.attribute("for_each") == nil {
		l.readOneFleet(block, "")
		return
	}
	for _, each := range l.forEach(block) {
		one := *block
		one.scope = block.scope.WithEach(each.key, each.value)
		one.attributes, one.blocks, one.valid, one.inner = nil, nil, nil, nil
		l.readOneFleet(&one, each.key)
	}
}

func (l *loader) readOneFleet(block *body, key string) {
	if len(l.definition.Fleets) >= maxFleets {
		l.Fail(block.header, block.where, "Too many fleets", fmt.Sprintf("A definition has at most %d fleets.", maxFleets))
		return
	}
	var written fleetBlock
	block.read(&written)
	result := written.fleet()
	result.Address = fleet.NewFleetAddress(written.Name, key)
	result.Class = l.classes[written.Class]
	if block.given("image") {
		result.Image = l.imageFor(block, written.Image, result.Provider, block.at("image"))
	}
	l.readInstance(block, &result)
	l.setIdentity(block, written.Admission, &result)
	l.setBatch(block, written.Batch, &result)
	block.takesEffect = withOffers(block, result)
	block.close()
	result = result.WithDefaults()
	l.checkFleet(block, &written, result)
	l.fleetBlocks[result.Address] = block
	l.definition.Fleets = append(l.definition.Fleets, result)
}

// fleet is what the block means where only the block itself is known.
func (f *fleetBlock) fleet() fleet.RunnerFleet {
	result := fleet.RunnerFleet{
		Provider: fleet.ProviderAddress(f.Provider), Scheduler: fleet.SchedulerAddress(f.Scheduler),
		Lifetime: fleet.LifetimeClass(f.Lifetime), Protected: f.Protected, Scaling: f.Scaling.policy(),
		Timeouts: fleet.DefaultTimeouts(), Admission: fleet.AdmissionPolicy{JobIsolation: fleet.JobIsolationRequired},
		Placement: fleet.PlacementPolicy{}, Scope: f.Scope.scope(),
	}
	if f.Runner != nil {
		result.Runner = fleet.RunnerPolicy(*f.Runner)
	}
	if f.Timeouts != nil {
		result.Timeouts = fleet.Timeouts(*f.Timeouts)
	}
	if f.Admission != nil {
		result.Admission = fleet.AdmissionPolicy(*f.Admission)
	}
	if f.Placement != nil {
		result.Placement = fleet.PlacementPolicy(*f.Placement)
	}
	if f.Rollout != nil {
		result.Rollout = fleet.RolloutPolicy(*f.Rollout)
	}
	if f.Cost != nil {
		result.Cost = fleet.CostPolicy(*f.Cost)
	}
	if f.Forecast != nil {
		result.Forecast = fleet.Forecast(*f.Forecast)
	}
	return result
}

// fleetBlockOf is the block that means a fleet.
func fleetBlockOf(f fleet.RunnerFleet) *fleetBlock {
	runner, timeouts, admission := runnerBlock(f.Runner), timeoutsBlock(f.Timeouts), admissionBlock(f.Admission)
	placement, rollout, cost, forecast := placementBlock(
		f.Placement,
	), rolloutBlock(
		f.Rollout,
	), costBlock(
		f.Cost,
	), forecastBlock(
		f.Forecast,
	)
	return &fleetBlock{
		Class: f.Class.Name, Provider: string(f.Provider), Image: f.Image.Name, Scheduler: string(f.Scheduler),
		Lifetime: string(f.Lifetime), Protected: f.Protected, Batch: cmp.Or(f.Batch, 1),
		Scope: scopeOf(f.Scope), Scaling: scalingOf(f.Scaling), Runner: &runner, Timeouts: &timeouts, Admission: &admission,
		Placement: &placement, Rollout: &rollout, Cost: &cost, Forecast: &forecast,
	}
}

// scope is whose jobs a fleet runs, or whom a reservation is for (spec §11); nil: the
// whole installation's.
func (s *scopeBlock) scope() fleet.FleetScope {
	if s == nil {
		return fleet.FleetScope{}
	}
	return fleet.FleetScope(*s)
}

func scopeOf(s fleet.FleetScope) *scopeBlock {
	block := scopeBlock(s)
	return &block
}

func checkScope(b *body) {
	for _, scope := range b.inner["scope"] {
		if scope.given("tenant") && scope.given("project") {
			scope.Fail(
				scope.header,
				scope.where,
				"tenant and project can't both be set",
				"A scope is one tenant or one project. Remove one.",
			)
		}
	}
}

func checkRunner(b *body, r *runnerBlock) {
	for _, one := range []struct {
		name  string
		texts []string
	}{{"command", r.Command}, {"cleanup", r.Cleanup}, {"env", slices.Collect(maps.Values(r.Env))}} {
		if slices.ContainsFunc(one.texts, func(text string) bool { return strings.ContainsRune(text, 0) }) {
			b.Fail(
				b.at(one.name),
				b.where,
				fmt.Sprintf("%q holds a zero byte", one.name),
				"Remove it: no program can be given one.",
			)
		}
	}
}
