package fleet

import "time"

// Refusal tells of calls of agents that the manager refused, since it started:
// how many for the same reason, and the last of them.
type Refusal struct {
	// Code is what the agent was told, Reason the sentence with it.
	Code   string `json:"code"`
	Reason string `json:"reason"`
	// Address is where the last one came from.
	Address string    `json:"address"`
	At      time.Time `json:"at"`
	Calls   int       `json:"calls"`
	// Instance is the one whose token or certificate was shown; empty: none was.
	Instance CapacityInstanceID `json:"instance,omitempty"`
}
