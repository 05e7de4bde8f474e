package store

import (
	"fmt"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func TestARecordIsDecodedAsItsBytesSayHoweverOftenAndHoweverMany(t *testing.T) {
	var known decoded[fleet.CapacityInstance]
	for n := range 2*decodedLimit + 10 {
		for _, why := range []string{"before", "after"} {
			record := fmt.Appendf(nil, `{"id":"i%d","cause":%q}`, n/2, why) // each twice
			got, err := known.of(record)
			if err != nil || got.ID != fleet.CapacityInstanceID(fmt.Sprint("i", n/2)) || got.Cause != why {
				t.Fatalf("%s is %+v, %v", record, got, err)
			}
			clear(record) // the caller's bytes are its own
		}
		if len(known.known) > decodedLimit {
			t.Fatalf("%d records are remembered", len(known.known))
		}
	}
	if _, err := known.of([]byte(`{"id":`)); err == nil {
		t.Error("half a record is decoded")
	}
}
