package config

import (
	"reflect"
	"strconv"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// block adds the values of a block by its declaration. What the block leaves open
// isn't among them: no value, and a boolean that is what leaving it out means.
func (a attributes) block(path string, block any) {
	value := reflect.ValueOf(block).Elem()
	a.declared(path, declared(value.Type()), value)
}

func (a attributes) declared(path string, d *declaration, value reflect.Value) {
	for _, one := range d.attributes {
		if one.typ.kind != kindExpression {
			a.attribute(path, one, value.Field(one.field))
		}
	}
	for _, nested := range d.blocks {
		field := value.Field(nested.field)
		switch {
		case nested.body == PluginBody:
		case nested.repeated:
			for i := range field.Len() {
				block := field.Index(i)
				inner := path + nested.name + "." + block.Field(nested.labels[0].field).String() + "."
				a.declared(inner, nested.declaration, block)
			}
		case !field.IsNil():
			a.declared(path+nested.name+".", nested.declaration, field.Elem())
		}
	}
}

// attribute adds one attribute of the block at path. Names are joined to the path only
// where there is a value: most attributes of most blocks are left out.
func (a attributes) attribute(path string, one *attribute, field reflect.Value) {
	switch {
	case one.typ.kind == fleet.KindBool:
		if text := strconv.FormatBool(field.Bool()); text != one.standard && (one.standard != "" || field.Bool()) {
			a[path+one.name] = text
		}
	case one.typ.kind == fleet.KindMap:
		if field.Len() == 0 {
			return
		}
		for entry := field.MapRange(); entry.Next(); {
			a[path+one.name+"."+entry.Key().String()] = quoted(entry.Value().Interface())
		}
	case !field.IsZero() || one.alwaysShown():
		a[path+one.name] = one.typ.asWritten(field)
	}
}

// alwaysShown says that zero is a value like any other.
func (a *attribute) alwaysShown() bool {
	return (a.typ.kind == fleet.KindInt || a.typ.kind == fleet.KindDuration) && (a.required || a.standard != "")
}

// asWritten is a value as one would write it. The kinds that most values have come
// first: Interface copies the value.
func (t valueType) asWritten(value reflect.Value) string {
	switch t.kind {
	case fleet.KindDuration:
		return quotedText(durationText(time.Duration(value.Int())))
	case kindSize:
		return quotedText(sizeText(value.Int()))
	case kindCPU:
		return cpuText(value.Int())
	case fleet.KindInt:
		return strconv.FormatInt(value.Int(), 10)
	case fleet.KindString, kindReference:
		return quotedText(value.String())
	}
	switch typed := value.Interface().(type) {
	case time.Time:
		return quotedText(typed.UTC().Format(time.RFC3339))
	case fleet.Money:
		return quotedText(typed.String())
	case fleet.SecretReference:
		return secretText(typed)
	}
	return quoted(value.Interface())
}

// secretText shows where a secret is; what it is isn't known here.
func secretText(reference fleet.SecretReference) string {
	return "secret(" + quotedText(string(reference)) + ")"
}

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
		a.image(f.Image)
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
	a.image(f.Image)
	a["provider"] = quotedText(string(f.Provider))
	a.setJSON("instance", f.Immutable)
	return a
}

func (a attributes) image(image fleet.Image) {
	for path, value := range map[string]string{"image.digest": image.Digest, "image.bootstrap": image.Bootstrap,
		"image.ref": image.Ref} {
		if value != "" {
			a[path] = quotedText(value)
		}
	}
}
