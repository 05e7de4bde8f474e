package store

import (
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/google/go-cmp/cmp"
)

// numbers are the ids without their kinds, for short comparisons.
func numbers[T any](rows []T, id func(T) string) (numbers []string) {
	for _, row := range rows {
		numbers = append(numbers, id(row)[len(id(row))-2:])
	}
	return numbers
}

func lists(t *testing.T, location string) {
	s := applied(t, open(t, location))
	_, err := s.ApplyDefinition(
		t.Context(),
		Apply{Expect: 1, Definition: fleet.Definition{Installation: "b"}, Fleets: []fleet.ManagedFleet{managed(2)}},
	)
	must(t, err)
	c := change(1, 6)
	c.Instances[2].Fleet = managed(2).ID
	c.Instances[4].State = fleet.Terminated
	second := c.Operations[0]
	second.ID = fleet.OperationID(id("operation", 50))
	c.Operations = append(c.Operations, second)
	for n := range 4 {
		c.Decisions = append(
			c.Decisions,
			fleet.Decision{ID: id("decision", n), At: now.Add(-time.Duration(n) * time.Minute), Fleet: managed(1).ID},
		)
	}
	must(t, s.Commit(t.Context(), c))
	for name, test := range map[string]struct {
		filter InstanceFilter
		want   []string
	}{
		"live":           {InstanceFilter{}, []string{"06", "04", "03", "02", "01"}},
		"all":            {InstanceFilter{IncludeTerminated: true}, []string{"06", "05", "04", "03", "02", "01"}},
		"the newest two": {InstanceFilter{Limit: 2}, []string{"06", "04"}},
		"of a fleet":     {InstanceFilter{Fleet: managed(2).ID}, []string{"03"}},
		"of a fleet, the newest": {InstanceFilter{Fleet: managed(1).ID, IncludeTerminated: true, Limit: 2},
			[]string{"06", "05"}},
		"of an unknown fleet": {InstanceFilter{Fleet: "unknown"}, nil},
		"the next two of all": {InstanceFilter{IncludeTerminated: true, Before: c.Instances[4].ID, Limit: 2},
			[]string{"04", "03"}},
	} {
		got, err := s.Instances(t.Context(), test.filter)
		must(t, err)
		if diff := cmp.Diff(
			test.want,
			numbers(got, func(i fleet.CapacityInstance) string { return string(i.ID) }),
		); diff != "" {
			t.Errorf("instances, %s:\n%s", name, diff)
		}
	}
	first := string(c.Instances[0].ID)
	for prefix, want := range map[string]int{first: 1, first[:len(first)-1]: 6, "": 6, first + "0": 0, "%": 0, "\x00": 0} {
		got, err := s.InstancesBeginning(t.Context(), prefix, 10)
		if must(t, err); len(got) != want {
			t.Errorf("%d instances begin with %q, want %d", len(got), prefix, want)
		}
	}
	for suffix, want := range map[string]int{first: 1, first[len(first)-2:]: 1, first[1 : len(first)-1]: 0, "": 6,
		"0" + first: 0, "%": 0, "\x00": 0} {
		got, err := s.InstancesEnding(t.Context(), suffix, 10)
		if must(t, err); len(got) != want {
			t.Errorf("%d instances end with %q, want %d", len(got), suffix, want)
		}
	}
	addresses, err := s.FleetAddresses(t.Context())
	must(t, err)
	if len(addresses) != 2 || addresses[managed(2).ID] != managed(2).Address {
		t.Errorf("the addresses are %v", addresses)
	}
	fleets, err := s.Fleets(t.Context())
	must(t, err)
	if diff := cmp.Diff(
		[]string{"01", "02"},
		numbers(fleets, func(f fleet.ManagedFleet) string { return string(f.ID) }),
	); diff != "" {
		t.Errorf("fleets:\n%s", diff)
	}
	operations, err := s.Operations(t.Context(), c.Instances[0].ID)
	must(t, err)
	if diff := cmp.Diff(
		[]string{"01", "50"},
		numbers(operations, func(o fleet.Operation) string { return string(o.ID) }),
	); diff != "" {
		t.Errorf("operations:\n%s", diff)
	}
	for limit, want := range map[int][]string{0: {"00", "01", "02", "03"}, 2: {"00", "01"}} {
		decisions, err := s.Decisions(t.Context(), managed(1).ID, limit)
		must(t, err)
		if diff := cmp.Diff(want, numbers(decisions, func(d fleet.Decision) string { return d.ID })); diff != "" {
			t.Errorf("decisions, limit %d:\n%s", limit, diff)
		}
	}
	if got, found, err := s.Instance(
		t.Context(),
		c.Instances[4].ID,
	); err != nil || !found ||
		!cmp.Equal(got, c.Instances[4]) {
		t.Errorf("one instance: %v, found %v, error %v", got, found, err)
	}
	if _, found, err := s.Instance(t.Context(), "unknown"); err != nil || found {
		t.Errorf("no instance: found %v, error %v", found, err)
	}
}

func prunes(t *testing.T, location string) {
	s := applied(t, open(t, location))
	const old, total = pruneBatch + 10, pruneBatch + 14
	c := change(1, total)
	for i := range total {
		c.Instances[i].State, c.Instances[i].Since = fleet.Terminated, now.Add(-time.Hour)
	}
	c.Instances[old].State = fleet.Healthy                // old, but live
	c.Instances[old+1].State = fleet.Terminating          // old, but not proven gone
	c.Instances[old+2].Since = now                        // terminated just now
	c.Instances[old+3].Since = now.Add(-30 * time.Minute) // exactly at the limit
	c.Decisions = []fleet.Decision{
		{ID: "d-01", Fleet: managed(1).ID, At: now.Add(-time.Hour)},
		{ID: "d-02", Fleet: managed(1).ID, At: now},
	}
	must(t, s.Commit(t.Context(), c))
	must(t, s.Enroll(t.Context(), enrolled(1), ""))
	must(t, s.Enroll(t.Context(), enrolled(old+1), ""))
	for n := range int64(3) { // definitions 2 to 4, the second an hour ago
		_, err := s.ApplyDefinition(
			t.Context(),
			Apply{Expect: n + 1, Definition: fleet.Definition{Installation: id("lab", int(n))},
				At: now.Add(time.Duration(n-1) * time.Hour), Fleets: []fleet.ManagedFleet{managed(2)}},
		)
		must(t, err)
	}
	must(t, s.Commit(t.Context(), Change{RetireFleets: []fleet.RunnerFleetID{managed(2).ID, managed(1).ID}, Serial: 4}))
	for name, ends := range map[string]struct{ expires, revoked time.Time }{
		"expired": {expires: now.Add(-time.Hour)}, "revoked": {revoked: now.Add(-time.Hour)},
		"expired just now": {expires: now}, "revoked just now": {revoked: now}, "live": {},
	} {
		token := apiToken(name)
		token.Expires = ends.expires
		must(
			t,
			s.CreateAPIToken(
				t.Context(),
				token,
				"hash of "+name,
				AuditRecord{ID: "create " + name, At: now.Add(-2 * time.Hour)},
			),
		)
		if !ends.revoked.IsZero() {
			_, err := s.RevokeAPIToken(t.Context(), token.ID, ends.revoked, AuditRecord{ID: "revoke " + name, At: ends.revoked})
			must(t, err)
		}
	}
	pruned, err := s.Prune(t.Context(), now.Add(-30*time.Minute))
	must(t, err)
	// Definition 1 is by now, and 2 by an hour before: 2 was current at the limit.
	if diff := cmp.Diff(Pruned{Instances: old, Decisions: 1, Definitions: 1, Fleets: 1, Tokens: 2}, pruned); diff != "" {
		t.Error(diff)
	}
	left, err := s.Instances(t.Context(), InstanceFilter{IncludeTerminated: true})
	must(t, err)
	if diff := cmp.Diff(
		[]string{"14", "13", "12", "11"},
		numbers(left, func(i fleet.CapacityInstance) string { return string(i.ID) }),
	); diff != "" {
		t.Errorf("instances left:\n%s", diff)
	}
	for table, want := range map[string]int{"operation": 4, "runner": 1, "definition": 3, "fleet": 1, "decision": 1,
		"api_token": 3, "audit": 7} {
		var got int
		must(t, s.reader.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&got))
		if got != want {
			t.Errorf("%d rows of %s are left, want %d", got, table, want)
		}
	}
	if again, err := s.Prune(t.Context(), now.Add(-30*time.Minute)); err != nil || again != (Pruned{}) {
		t.Errorf("a second prune removed %v, error %v", again, err)
	}
}
