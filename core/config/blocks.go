package config

import (
	"reflect"
	"sync"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// fleetFile is everything that stands at the top of the fleet files, in the order
// in which a reader needs it. Each block is declared by a struct: see declaration
// for the tags. In a doc, which can't hold back quotes, 'x' is code.
type fleetFile struct {
	Forgeyard    *forgeyardBlock    `fleet:"forgeyard,block,required" doc:"Names the installation and what it needs. A definition has exactly one. 'installation', 'required_version' and 'required_plugins' are plain values: they are read before variables are known."`
	Variables    []variableBlock    `fleet:"variable,block" doc:"A value from outside, used as 'var.NAME'. It comes from '--var NAME=VALUE', a '--var-file', or 'FLEET_VAR_NAME' in the environment, in this order of precedence; else it is the default."`
	Locals       []struct{}         `fleet:"locals,block" body:"free" example:"command = [\"sh\", \"-c\", \"echo working; sleep 5\"]" doc:"Names for expressions, used as 'local.NAME'. They may refer to each other, but not in a cycle."`
	Schedulers   []schedulerBlock   `fleet:"scheduler,block" doc:"A CI system that reports what its jobs need and learns which runners were admitted. 'TYPE' is 'forgeyard' or 'reviewos'. Refer to it as 'scheduler.TYPE.NAME'. It is polled every two seconds. [Following a scheduler](schedulers.md) is about both, [From a shell autoscaler to a fleet file](reviewos.md) about 'reviewos'."`
	Providers    []providerBlock    `fleet:"provider,block" body:"plugin" example:"root = \"/var/lib/acme-ci\"" doc:"One place where instances come from. 'PLUGIN' is an entry of 'required_plugins', and the plugin's schema says what the body holds: see [plugins/aws.md](plugins/aws.md), [plugins/libvirt.md](plugins/libvirt.md), [plugins/local.md](plugins/local.md) and [plugins/manual.md](plugins/manual.md). Refer to it as 'provider.PLUGIN.NAME'. One plugin process serves each block."`
	Images       []imageBlock       `fleet:"image,block" doc:"What instances boot. A fleet whose provider has no images needs none; the plugin 'local' has none and only records one."`
	Classes      []classBlock       `fleet:"capacity_class,block" doc:"Equivalent instances: any of them can run the same jobs. A change of anything but the name replaces the instances of the fleets that use it."`
	Fleets       []fleetBlock       `fleet:"fleet,block" doc:"A number of instances of one class from one provider. Its address is 'fleet.NAME'."`
	Reservations []reservationBlock `fleet:"reservation,block" doc:"Capacity that is kept for a time. It reserves no job: the scheduler still decides what runs, and waiting jobs use what is reserved. It ends with its time, or with its block. Joined instances and protected fleets can have none."`
	Policy       *policyBlock       `fleet:"policy,block" doc:"What fleets may be declared at all, and whose jobs they run. A fleet that isn't allowed is an error, and nothing is applied. Fleets that the files no longer mention, and existing instances, aren't ended by it; 'status' shows what the policy doesn't allow."`
	Removed      []removedBlock     `fleet:"removed,block" doc:"Takes a fleet away: every runner leaves after its job, then the fleet is forgotten. A fleet that the files merely don't mention any more runs on. The fleet's 'provider' block may leave the files with it, and is kept as it was applied until the last instance is gone; its plugin must stay in 'fleet.lock.hcl' as long."`
	Moved        []movedBlock       `fleet:"moved,block" doc:"Gives a fleet another address and keeps its instances. Without it, a fleet under a new name is a new fleet. The block may stay when it has been applied, and a later one may lead on: from 'a' to 'b' and from 'b' to 'c' both lead to 'c'."`
}

// removedBlock takes a fleet away.
type removedBlock struct {
	From fleet.FleetAddress `fleet:"from,required" example:"fleet.legacy" doc:"'fleet.NAME', or 'fleet.NAME[\"KEY\"]', of a fleet that isn't declared."`
}

// movedBlock gives a fleet another address.
type movedBlock struct {
	From fleet.FleetAddress `fleet:"from,required" example:"fleet.legacy-docs" doc:"The old address, which isn't declared any more."`
	To   fleet.FleetAddress `fleet:"to,required" example:"fleet.team[\"docs\"]" doc:"The new address, which is declared. Only one fleet can be moved to it."`
}

// notYetSentences are what the tag notyet names.
var notYetSentences = map[string]notYetSentence{
	"class": {
		"It is part of the class's identity, so a change replaces instances; jobs that require it are sent here, and no " +
			"instance is checked for it yet.",
		false,
	},
	"max_wait": {"It is only compared with the timeouts.", false},
	"lifetime": {"The provider's plugin lists no offers: it isn't asked for one or the other.", true},
	"zones": {
		"The provider's plugin lists no offers: only the plugin decides in which zone an instance is made.",
		true,
	},
	"spread": {"The provider's plugin lists no offers, so nothing can be spread over zones or regions.", true},
}

// fleetLanguage is the blocks that a fleet file may hold.
var fleetLanguage = sync.OnceValue(func() *language {
	return newLanguage(reflect.TypeFor[fleetFile](), notYetSentences)
})

// Reference is every block of a fleet file in the order in which a reader needs them,
// each followed by those within it.
func Reference() []ReferenceBlock { return fleetLanguage().reference() }
