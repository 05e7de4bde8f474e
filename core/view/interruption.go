package view

import (
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Interruption is what an instance's provider announced.
type Interruption struct {
	fleet.Interruption
	// Reason says it for people.
	Reason reason.Reason `json:"reason"`
}

func interruptionOf(i *fleet.Interruption) *Interruption {
	if i == nil {
		return nil
	}
	return &Interruption{Interruption: *i, Reason: announced(*i, "")}
}

// announced is what was announced about an instance, by whom, and what follows from it.
func announced(i fleet.Interruption, instance fleet.CapacityInstanceID) reason.Reason {
	why := i.Announced()
	why.Instance = string(instance)
	return reason.Of(why)
}

// interruptions are a fleet's instances about which something was announced.
func interruptions(members []member) (all []reason.Reason) {
	for _, i := range members {
		if i.Interruption != nil {
			all = append(all, announced(*i.Interruption, i.ID))
		}
	}
	return all
}
