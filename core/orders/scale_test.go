package orders

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func number(n int) *int { return &n }

func TestAnOverrideIsHeldAgainstTheFileAndItself(t *testing.T) {
	file := fleet.ManagedFleet{
		Operational: fleet.FleetActive,
		RunnerFleet: fleet.RunnerFleet{Address: "fleet.demo", Scaling: fleet.ScalingPolicy{Min: 2, Max: 4}},
	}
	protected, joined, removed, zero := file, file, file, file
	protected.Protected, joined.Joined, removed.Operational = true, true, fleet.FleetDraining
	zero.Scaling.ScaleToZero = true
	for _, test := range []struct {
		name        string
		fleet       fleet.ManagedFleet
		least, most *int
		want        string
	}{
		{"both", file, number(3), number(3), ""},
		{"beyond the file's max", file, number(9), number(9), ""},
		{"a min beyond the file's max alone", file, number(9), nil, "give a max, too"},
		{"a max under the file's min alone", file, nil, number(1), "give a min, too"},
		{"contrary to itself", file, number(4), number(3), "min = 4 is more than max = 3"},
		{"nothing", file, nil, nil, "give a min, a max or both"},
		{"negative", file, number(-1), nil, "from 0 to 100000"},
		{"a slip of the keyboard", file, nil, number(100_001), "from 0 to 100000"},
		{"to zero, which the file doesn't allow", file, number(0), nil, "scale_to_zero"},
		{"to zero", zero, number(0), number(0), ""},
		{"a protected fleet", protected, number(3), nil, "protected"},
		{"hosts that a person joins", joined, number(3), nil, "joined manually"},
		{"a fleet that is removed", removed, number(3), nil, "being removed"},
	} {
		got := scaleProblem(test.fleet, fleet.FleetScaleOverride{Min: test.least, Max: test.most})
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestReservationsThatHaveEndedLeaveRoomForOthers(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	s := snapshot.State{
		Fleets: []fleet.ManagedFleet{
			{ID: "f1", RunnerFleet: fleet.RunnerFleet{Address: "fleet.demo", Class: fleet.CapacityClass{Name: "small"}}},
		},
	}
	for n := range mostReservations {
		s.Overrides.Reservations = append(
			s.Overrides.Reservations,
			fleet.CapacityReservation{ID: fleet.CapacityReservationID(strconv.Itoa(n)), End: now},
		)
	}
	want := ReservationRequest{Class: "small", Quantity: 1, Start: now, End: now.Add(time.Hour)}
	if _, err := newReservation(s, access.LocalUser("ada"), want, now); err != nil {
		t.Errorf("all of the others have ended: %v", err)
	}
	if _, err := newReservation(
		s,
		access.LocalUser("ada"),
		want,
		now.Add(-time.Minute),
	); !errors.As(
		err,
		new(*access.ConflictError),
	) {
		t.Errorf("none of the others has ended: %v", err)
	}
}

func TestScaleReceiptNamesOnlyTheGivenLimits(t *testing.T) {
	one, nine := 1, 9
	f := fleet.ManagedFleet{}
	f.Scaling.Min, f.Scaling.Max = 2, 4
	until := time.Date(2026, 5, 4, 11, 0, 0, 0, time.UTC)
	for want, o := range map[string]fleet.FleetScaleOverride{
		"min = 1 until 2026-05-04 11:00 UTC, then the file's 2 again": {Min: &one, Until: until},
		"max = 9 until 2026-05-04 11:00 UTC, then the file's 4 again": {Max: &nine, Until: until},
		"min = 1 and max = 9 until 2026-05-04 11:00 UTC, then the file's 2 and 4 again": {Min: &one, Max: &nine,
			Until: until},
	} {
		if got := scaled(f, o); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
