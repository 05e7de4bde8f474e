package orders

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// joinChoice is which host goes to which fleet.
type joinChoice struct {
	fleet fleet.ManagedFleet
	asset fleet.Asset
	// claim is the host's own, not yet joined, with the operation's key; nil: it is
	// free.
	claim *fleet.AssetClaim
	key   fleet.OperationID
}

// chooseFleet finds the one fleet that the host may join.
func chooseFleet(s snapshot.State, caller access.Caller, r JoinRequest) (joinChoice, error) {
	var possible []joinChoice
	var reasons, hosts []string
	assets := s.Assets()
	for _, f := range s.Governed() {
		if !f.Joined || !caller.MayTouch(f.Address) {
			continue
		}
		for _, a := range assets[f.Provider] {
			hosts = append(hosts, a.ID)
			if a.ID != r.Host || r.Fleet != "" && !named(f, r.Fleet) {
				continue
			}
			why := cantTake(f, a)
			if q, barred := s.Overrides.FleetQuarantine(f); barred && why == "" {
				why = "it or its image was quarantined by " + q.By
			}
			if why != "" {
				reasons = append(reasons, fmt.Sprintf("%s: %s", f.Address, why))
				continue
			}
			possible = append(possible, joinChoice{fleet: f, asset: a})
		}
	}
	if !slices.Contains(hosts, r.Host) {
		return joinChoice{}, access.Invalid("unknown host %q; hosts in inventories: %s", r.Host, listed(hosts))
	}
	if taken, err := claimed(s, r, possible); taken.claim != nil || err != nil {
		return taken, err
	}
	switch {
	case len(possible) == 1:
		return possible[0], nil
	case len(possible) > 1:
		var names []string
		for _, c := range possible {
			names = append(names, string(c.fleet.Address))
		}
		return joinChoice{}, access.Invalid(
			"several fleets can take the host %s; name one with --fleet: %s",
			r.Host,
			listed(names),
		)
	case len(reasons) == 0:
		return joinChoice{}, access.Invalid("the host %[2]s is not in an inventory of %[1]s", r.Fleet, r.Host)
	}
	return joinChoice{}, access.Invalid("no fleet can take the host %s: %s", r.Host, strings.Join(reasons, "; "))
}

// cantTake says why the fleet takes no host, or not this one; "": it does.
func cantTake(f fleet.ManagedFleet, a fleet.Asset) string {
	if f.Operational != fleet.FleetActive {
		return fmt.Sprintf("it is %s", f.Operational)
	}
	return f.Unsuitable(a).Text()
}

func named(f fleet.ManagedFleet, name string) bool {
	return string(f.Address) == name || f.Address.Name() == name
}

// claimed is the choice that was made already, where the host is claimed and
// waits to be joined. One that is joined has to be released first.
func claimed(s snapshot.State, r JoinRequest, possible []joinChoice) (joinChoice, error) {
	for _, claim := range s.Claims {
		concerned := slices.ContainsFunc(possible, func(c joinChoice) bool { return c.fleet.Provider == claim.Provider })
		n := slices.IndexFunc(s.Instances, func(i fleet.CapacityInstance) bool { return i.ID == claim.Instance })
		if claim.Asset != r.Host || !concerned || n < 0 {
			continue
		}
		i := s.Instances[n]
		for _, c := range possible {
			if c.fleet.ID == i.Fleet && !enrolled(s, i) && i.Unjoined() {
				c.claim, c.key = &claim, i.Key
				return c, nil
			}
		}
		return joinChoice{}, takenBy(s, i, claim)
	}
	return joinChoice{}, nil
}

// takenBy says why a claimed host can't be claimed, and what to do.
func takenBy(s snapshot.State, i fleet.CapacityInstance, claim fleet.AssetClaim) error {
	address := fleet.FleetAddress(i.Fleet)
	for _, f := range s.Fleets {
		if f.ID == i.Fleet {
			address = f.Address
		}
	}
	switch {
	case !enrolled(s, i) && i.Unjoined():
		return access.Conflict(
			"the host %s is claimed for %s until %s, and not joined yet",
			claim.Asset,
			address,
			claim.Expires.UTC().Format(time.RFC3339),
		)
	case i.State == fleet.Terminating || i.State == fleet.Failed || i.State == fleet.Draining:
		return access.Conflict(
			"the host %s is being released from %s (instance %s is %s); try again when it is free",
			claim.Asset,
			address,
			i.ID,
			i.State,
		)
	}
	return access.Conflict(
		"the host %s is joined to %s (instance %s is %s); to release it, remove it from the fleet's hosts or the "+
			"inventory, and apply",
		claim.Asset,
		address,
		i.ID,
		i.State,
	)
}

func enrolled(s snapshot.State, i fleet.CapacityInstance) bool {
	return slices.ContainsFunc(s.Runners, func(r fleet.Runner) bool { return r.Instance == i.ID })
}

// listed is words in their order, each once.
func listed(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ", ")
}
