package market

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Circuits are all that aren't closed.
type Circuits map[Scope]Circuit

// Attempt is a provision operation as the circuits need it.
type Attempt struct {
	Operation fleet.OperationID
	Provider  fleet.ProviderAddress
	// Offers are those of its request, in their order, all of one lifetime. A
	// request without any has one offer, of which only the lifetime is known.
	Offers []fleet.Offer
}

// Shortage is a provider's word that it has no room.
type Shortage struct {
	Class   fleet.ErrorClass
	Message string
	// Zone, MachineType and Group narrow it; "": all.
	Zone, MachineType, Group string
	RetryAfter               time.Duration
}

// IsShortage says whether an error is about room, and so the circuits' business.
func IsShortage(class fleet.ErrorClass) bool {
	return class == fleet.ErrorCapacity || class == fleet.ErrorQuota
}

// Clone is a copy of its own.
func (cs Circuits) Clone() Circuits {
	if cs == nil {
		return Circuits{}
	}
	return maps.Clone(cs)
}

// Affecting are the circuits that are about an offer of a provider, the widest first.
func (cs Circuits) Affecting(provider fleet.ProviderAddress, o fleet.Offer) []Circuit {
	groups := []string{""}
	if o.Scope != "" {
		groups = append(groups, o.Scope)
	}
	scopes := make([]Scope, 0, 8)
	for _, group := range groups {
		scopes = append(
			scopes,
			Scope{Provider: provider, Group: group, Lifetime: o.Lifetime},
			Scope{Provider: provider, Group: group, Zone: o.Zone, Lifetime: o.Lifetime},
			Scope{Provider: provider, Group: group, MachineType: o.MachineType, Lifetime: o.Lifetime},
			Scope{Provider: provider, Group: group, Zone: o.Zone, MachineType: o.MachineType, Lifetime: o.Lifetime},
		)
	}
	var over []Circuit
	for n, s := range scopes {
		if c, found := cs[s]; found && !slices.Contains(scopes[:n], s) {
			over = append(over, c)
		}
	}
	return over
}

// RecordShortage takes in that an attempt found no room. random gives a number in [0, 1).
func (cs Circuits) RecordShortage(a Attempt, s Shortage, now time.Time, random func() float64) {
	scope := narrowed(a, s)
	c, known := cs[scope]
	if !known {
		c = Circuit{Scope: scope}
	}
	e := short
	if c.Probe == a.Operation && known {
		e = shortProbe
	}
	cs.apply(c, e, s, now, random)
	at := slices.IndexFunc(a.Offers, scope.covers)
	if scope.Zone == "" && scope.MachineType == "" && scope.Group == "" {
		at = len(a.Offers) // none of them has room
	}
	cs.endProbes(a, at, s, now, random)
}

// narrowed is what a shortage is of. A zone, machine type or group that none of the
// attempt's offers has says nothing about any of them: then it is of all of them,
// lest the same request goes out again at once.
func narrowed(a Attempt, s Shortage) Scope {
	scope := Scope{Provider: a.Provider, Zone: s.Zone, MachineType: s.MachineType, Group: s.Group}
	if len(a.Offers) > 0 {
		scope.Lifetime = a.Offers[0].Lifetime
	}
	if !slices.ContainsFunc(a.Offers, scope.covers) {
		scope.Zone, scope.MachineType, scope.Group = "", "", ""
	}
	return scope
}

// RecordSuccess takes in that an attempt made a machine, and where. What the provider
// doesn't say of it is known only where there was one offer.
func (cs Circuits) RecordSuccess(a Attempt, zone, machineType string, now time.Time, random func() float64) {
	used := fleet.Offer{Zone: zone, MachineType: machineType}
	if len(a.Offers) > 0 {
		used.Lifetime = a.Offers[0].Lifetime
	}
	if len(a.Offers) == 1 {
		used.Zone, used.MachineType = cmp.Or(zone, a.Offers[0].Zone), cmp.Or(machineType, a.Offers[0].MachineType)
	}
	if at := slices.IndexFunc(a.Offers, used.Same); at >= 0 {
		used.Scope = a.Offers[at].Scope
	}
	for _, c := range cs.sorted() {
		if c.Provider == a.Provider && c.covers(used) {
			cs.apply(c, works, Shortage{}, now, random)
		}
	}
	at := slices.IndexFunc(a.Offers, used.Same)
	cs.endProbes(a, at, Shortage{Class: fleet.ErrorCapacity, Message: "a later offer was used"}, now, random)
}

// RecordEnd takes in that an operation is over and says nothing about room.
func (cs Circuits) RecordEnd(operation fleet.OperationID) {
	for _, c := range cs.sorted() {
		if c.Probe == operation {
			cs.apply(c, ends, Shortage{}, time.Time{}, nil)
		}
	}
}

// endProbes ends what an attempt still probes. Offers are tried in their order:
// those before the one that decided it had no room, and those after it
// weren't tried.
func (cs Circuits) endProbes(a Attempt, decided int, s Shortage, now time.Time, random func() float64) {
	for _, c := range cs.sorted() {
		if c.Probe != a.Operation {
			continue
		}
		first := slices.IndexFunc(a.Offers, c.covers)
		if first >= 0 && first < decided {
			cs.apply(c, shortProbe, s, now, random)
		} else {
			cs.apply(c, ends, s, now, random)
		}
	}
}

// Begin makes an operation the probe of circuits that are half open.
func (cs Circuits) Begin(operation fleet.OperationID, scopes []Scope, now time.Time) {
	for _, s := range scopes {
		if c, there := cs[s]; there && transitions[c.State(now)][begins] == Probing {
			c.Probe, c.ProbeSince = operation, now
			cs[s] = c
		}
	}
}

// Advance lets time pass: a probe that is over, by what open says, or lasts too long
// makes room for another; what no one has wanted for long is forgotten; and what a
// clock that was set back left in the future comes back to now.
func (cs Circuits) Advance(now time.Time, open func(fleet.OperationID) bool) {
	for _, c := range cs.sorted() {
		if latest := now.Add(c.Wait); c.Until.After(latest) {
			c.Until = latest
		}
		if c.Since.After(now) {
			c.Since = now
		}
		if c.ProbeSince.After(now) {
			c.ProbeSince = now
		}
		cs[c.Scope] = c
		switch {
		case c.Probe != "" && (!open(c.Probe) || now.Sub(c.ProbeSince) >= probeLimit):
			cs.apply(c, ends, Shortage{}, now, nil)
		case c.Probe == "" && now.Sub(c.Until) >= forgetAfter:
			delete(cs, c.Scope)
		}
	}
}

// Retry half opens a provider's circuits now: something about it has changed.
func (cs Circuits) Retry(provider fleet.ProviderAddress, now time.Time) {
	for _, c := range cs.sorted() {
		if c.Provider == provider && c.Until.After(now) {
			c.Until = now
			cs[c.Scope] = c
		}
	}
}

// apply moves one circuit along the table.
func (cs Circuits) apply(c Circuit, e event, s Shortage, now time.Time, random func() float64) {
	state := c.State(now)
	to, moves := transitions[state][e]
	if !moves {
		return
	}
	switch to {
	case Closed:
		delete(cs, c.Scope)
		return
	case Open:
		if c.Failures == 0 {
			c.Since = now
		}
		c.Failures++
		c.Class, c.Message = s.Class, s.Message
		c.Wait = waitFor(c.Failures, random(), s.RetryAfter)
		c.Until = now.Add(c.Wait)
	}
	c.Probe, c.ProbeSince = "", time.Time{}
	cs[c.Scope] = c
}

// sorted are the circuits in a fixed order, since each may draw randomness.
func (cs Circuits) sorted() []Circuit {
	return slices.SortedFunc(maps.Values(cs), func(a, b Circuit) int {
		return cmp.Or(
			cmp.Compare(a.Provider, b.Provider),
			cmp.Compare(a.Lifetime, b.Lifetime),
			cmp.Compare(a.Zone, b.Zone),
			cmp.Compare(a.MachineType, b.MachineType),
			cmp.Compare(a.Group, b.Group),
		)
	})
}
