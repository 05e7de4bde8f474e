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
	return reason.Of(reason.Interruption{Instance: string(instance), Kind: string(i.Kind), Deadline: reason.At(i.Deadline), Message: i.Detail,
		Source: string(i.Source), Heard: reason.At(i.Heard), Withdrawn: reason.At(i.Withdrawn)})
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
