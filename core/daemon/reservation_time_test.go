package daemon

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
)

// A time of the year 9999 in a zone behind is of the year 10000 elsewhere, which
// no record can hold.
func TestAReservationAtTheEndOfTimeIsRefused(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withTwoFleets(t, &now)
	for _, times := range [][2]string{
		{"2026-06-01T00:00:00Z", "9999-12-31T23:59:59-12:00"},
		{"0000-01-01T00:00:00+12:00", "2027-01-01T00:00:00Z"},
	} {
		r := orders.ReservationRequest{Class: "small", Quantity: 1, LeadTime: time.Hour}
		for n, to := range []*time.Time{&r.Start, &r.End} {
			if err := json.Unmarshal([]byte(`"`+times[n]+`"`), to); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.CreateReservation(as(t, access.LocalUser("ada")), r); !errors.As(err, new(*access.InvalidError)) {
			t.Errorf("%v: %v", times, err)
		}
	}
}
