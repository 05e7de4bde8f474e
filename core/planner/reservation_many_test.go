package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Who may reserve may make so many, each beginning at a time of its own. Every
// step of the loop gives them all out, and took seconds for that: at each beginning
// each was held again against the class of each fleet. Counted are allocations, which
// are the same on every machine: a digest of a class makes some.
func TestManyReservationsAreHeldAgainstTheFleetsOnce(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	class := fleet.CapacityClass{Name: "small", Platform: fleet.Platform{OS: "linux", Arch: "x86_64"}}
	in := input{Now: now}
	for n := range 20 {
		in.Fleets = append(
			in.Fleets,
			fleet.ManagedFleet{
				ID:          fleet.RunnerFleetID(fmt.Sprint("f", n)),
				Operational: fleet.FleetActive,
				RunnerFleet: fleet.RunnerFleet{
					Address: fleet.FleetAddress(
						fmt.Sprint("fleet.f", n),
					),
					Provider: "local.here",
					Class:    class,
					Scaling:  fleet.ScalingPolicy{Max: 100_000},
				},
			},
		)
	}
	for n := range 60 {
		in.Overrides.Reservations = append(in.Overrides.Reservations, fleet.CapacityReservation{
			ID: fleet.CapacityReservationID(fmt.Sprintf("r%03d", n)), Class: class, Quantity: 100_000,
			Start: now.Add(time.Duration(n+1) * time.Hour), End: now.Add(10_000 * time.Hour)})
	}
	all := in.planning()
	var a allotted
	made := testing.AllocsPerRun(1, func() { a = allotments(all) })
	if pairs := float64(len(in.Fleets) * len(in.Overrides.Reservations)); made > 50*pairs {
		t.Errorf("%.0f allocations for each fleet and reservation", made/pairs)
	}
	if first, last := a.plans[0], a.plans[59]; first.Missing != 0 || last.Missing != 100_000 {
		t.Errorf("missing %d of the first, %d of the last", first.Missing, last.Missing)
	}
}
