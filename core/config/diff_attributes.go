package config

import "github.com/forgeyard/forgeyard-fleet/core/fleet"

func forgeyardAttributes(definition fleet.Definition) attributes {
	a := attributes{}
	manager := managerBlock(definition.Manager)
	a.block(
		"",
		&forgeyardBlock{
			Installation:    definition.Installation,
			RequiredVersion: definition.RequiredVersion,
			Manager:         &manager,
		},
	)
	return a
}

func pluginsByAddress(definition fleet.Definition) map[string]attributes {
	result := map[string]attributes{}
	for _, plugin := range definition.Plugins {
		a := attributes{"name": quoted(plugin.Name)}
		block := requirementBlock(plugin)
		a.block("", &block)
		result["plugin."+plugin.Name] = a
	}
	return result
}

func providersByAddress(definition fleet.Definition) map[string]attributes {
	result := map[string]attributes{}
	for _, provider := range definition.Providers {
		a := attributes{"plugin": quoted(provider.Address.Plugin())}
		a.block("", &providerBlock{Advertise: provider.Advertise})
		a.setJSON("config", provider.Config)
		result["provider."+string(provider.Address)] = a
	}
	return result
}

func schedulersByAddress(definition fleet.Definition) map[string]attributes {
	result := map[string]attributes{}
	for _, scheduler := range definition.Schedulers {
		a := attributes{"type": quoted(scheduler.Address.Type())}
		a.block("", schedulerBlockOf(scheduler))
		for _, queue := range scheduler.Queues {
			a.block("queue."+queue.Name+".capacity_class.", classBlockOf(queue.Class))
		}
		result["scheduler."+string(scheduler.Address)] = a
	}
	return result
}

func reservationsByAddress(definition fleet.Definition) map[string]attributes {
	result := map[string]attributes{}
	for _, reservation := range definition.Reservations {
		a := attributes{}
		a.block("", reservationBlockOf(reservation))
		a.block("capacity_class.", classBlockOf(reservation.Class))
		result["reservation."+reservation.Name] = a
	}
	return result
}

func policyAttributes(definition fleet.Definition) attributes {
	a := attributes{}
	a.block("", policyBlockOf(definition.Policy))
	return a
}

// fleetsByAddress shows the address itself where a fleet is moved, as it was
// before.
func fleetsByAddress(fleets map[string]fleet.RunnerFleet, movedFrom map[string]string) map[string]attributes {
	result := map[string]attributes{}
	for address, f := range fleets {
		a := attributes{"address": address}
		f = f.WithDefaults()
		a.block("", fleetBlockOf(f))
		a.block("capacity_class.", classBlockOf(f.Class))
		addImage(a, f.Image)
		a.setJSON("instance", f.Instance)
		if from, moved := movedFrom[address]; moved {
			a["address"] = from
		}
		result[address] = a
	}
	return result
}

// immutableAttributes are those whose change replaces instances: what an
// instance is and where, but not what it is called.
func immutableAttributes(f fleet.RunnerFleet) attributes {
	a := attributes{}
	a.block("capacity_class.", classBlockOf(f.Class))
	addImage(a, f.Image)
	a["provider"] = quotedText(string(f.Provider))
	a.setJSON("instance", f.Immutable)
	return a
}

func addImage(a attributes, image fleet.Image) {
	for path, value := range map[string]string{"image.digest": image.Digest, "image.bootstrap": image.Bootstrap,
		"image.ref": image.Ref} {
		if value != "" {
			a[path] = quotedText(value)
		}
	}
}
