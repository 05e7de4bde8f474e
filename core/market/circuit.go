package market

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Scope is what a shortage is of. Without a zone, a machine type or a group it is of all
// of them.
type Scope struct {
	Provider    fleet.ProviderAddress `json:"provider"`
	Zone        string                `json:"zone,omitempty"`
	MachineType string                `json:"machine_type,omitempty"`
	// Group is the plugin's own name of what has no room, such as a placement group.
	Group    string              `json:"group,omitempty"`
	Lifetime fleet.LifetimeClass `json:"lifetime"`
}

// covers says that a shortage of the scope is one of the offer.
func (s Scope) covers(o fleet.Offer) bool {
	return s.Lifetime == o.Lifetime && (s.Zone == "" || s.Zone == o.Zone) &&
		(s.MachineType == "" || s.MachineType == o.MachineType) && (s.Group == "" || s.Group == o.Scope)
}

// State is what a circuit lets through.
//
//	Closed → Open → HalfOpen → Probing → Closed
//	           ↑_______│__________│
type State string

// The states. Closed lets everything through and is not remembered, Open nothing,
// HalfOpen the one operation that becomes its probe, Probing nothing until that
// has ended.
const (
	Closed   State = "closed"
	Open     State = "open"
	HalfOpen State = "half_open"
	Probing  State = "probing"
)

// Circuit is one scope's.
type Circuit struct {
	Scope
	// Class is capacity or quota, Message what the infrastructure said last.
	Class   fleet.ErrorClass `json:"class"`
	Message string           `json:"message"`
	// Since is the first of the failures in a row.
	Since    time.Time `json:"since"`
	Failures int       `json:"failures"`
	// Wait is how long it was opened for last, Until when that is over.
	Wait  time.Duration `json:"wait"`
	Until time.Time     `json:"until"`
	// Probe is the operation that tries; "": none.
	Probe      fleet.OperationID `json:"probe,omitempty"`
	ProbeSince time.Time         `json:"probe_since,omitzero"`
}

// State is the circuit's at a time.
func (c Circuit) State(now time.Time) State {
	switch {
	case c.Failures == 0:
		return Closed
	case c.Probe != "":
		return Probing
	case now.Before(c.Until):
		return Open
	}
	return HalfOpen
}

// event is what a circuit is told.
type event int

const (
	short      event = iota // an operation found no room
	shortProbe              // the probe found no room
	works                   // a machine was made
	begins                  // an operation becomes the probe
	ends                    // the probe is over and says nothing
)

// transitions are all that happen; what isn't here changes nothing. What was
// on its way when a circuit opened says nothing new, so that a burst of requests
// counts once. A move into Open counts a failure and waits again.
var transitions = map[State]map[event]State{
	Closed:   {short: Open},
	Open:     {works: Closed},
	HalfOpen: {short: Open, works: Closed, begins: Probing},
	Probing:  {shortProbe: Open, works: Closed, ends: HalfOpen},
}

// Times of a circuit.
const (
	firstWait = 5 * time.Second
	// LongestWait is the longest that a circuit stays open by itself, before jitter.
	LongestWait = 5 * time.Minute
	// jitter is how much longer a wait may be, at random.
	jitter = 0.2
	// longestAsked bounds the wait that a provider asks for.
	longestAsked = time.Hour
	// probeLimit is how long one operation may be the only one that tries.
	probeLimit = 10 * time.Minute
	// forgetAfter is how long no one may have wanted to try before the circuit is
	// forgotten.
	forgetAfter = time.Hour
)

// waitFor is how long a circuit stays open after so many failures: 5 s doubling to
// 5 min, longer by up to a fifth, and as long as the provider asks.
func waitFor(failures int, random float64, asked time.Duration) time.Duration {
	wait := firstWait
	for n := 1; n < failures && wait < LongestWait; n++ {
		wait *= 2
	}
	wait = min(wait, LongestWait)
	wait += time.Duration(jitter * min(max(random, 0), 1) * float64(wait))
	return max(wait, min(asked, longestAsked))
}
