package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// InstanceFilter narrows Instances. The zero value asks for all live instances.
type InstanceFilter struct {
	Fleet             fleet.RunnerFleetID
	IncludeTerminated bool
	// Before wants only those with a smaller id, which are older; "": all.
	Before fleet.CapacityInstanceID
	// Limit is how many of the newest are wanted; 0: all.
	Limit int
}

// Fleets lists the fleets that aren't retired, sorted by address.
func (s *Store) Fleets(ctx context.Context) ([]fleet.ManagedFleet, error) {
	fleets, err := browse(ctx, s, "list fleets", decode[fleet.ManagedFleet], `SELECT record FROM fleet WHERE retired = 0`)
	slices.SortFunc(
		fleets,
		func(a, b fleet.ManagedFleet) int { return strings.Compare(string(a.Address), string(b.Address)) },
	)
	return fleets, err
}

// Instances lists instances, the newest first.
func (s *Store) Instances(ctx context.Context, filter InstanceFilter) ([]fleet.CapacityInstance, error) {
	query := `SELECT record FROM instance WHERE 1 = 1`
	var arguments []any
	if filter.Fleet != "" {
		arguments = append(arguments, string(filter.Fleet))
		query += fmt.Sprintf(` AND fleet = $%d`, len(arguments))
	}
	if !filter.IncludeTerminated {
		query += ` AND state NOT IN ('terminated', 'departing')`
	}
	if filter.Before != "" {
		arguments = append(arguments, storable(string(filter.Before)))
		query += fmt.Sprintf(` AND id < $%d`, len(arguments))
	}
	query += ` ORDER BY id DESC`
	if filter.Limit > 0 {
		arguments = append(arguments, filter.Limit)
		query += fmt.Sprintf(` LIMIT $%d`, len(arguments))
	}
	return browse(ctx, s, "list instances", decode[fleet.CapacityInstance], query, arguments...)
}

// Instance finds one instance, live or terminated.
func (s *Store) Instance(ctx context.Context, id fleet.CapacityInstanceID) (fleet.CapacityInstance, bool, error) {
	found, err := browse(ctx, s, "find instance "+string(id), decode[fleet.CapacityInstance],
		`SELECT record FROM instance WHERE id = $1`, storable(string(id)))
	if err != nil || len(found) == 0 {
		return fleet.CapacityInstance{}, false, err
	}
	return found[0], true, nil
}

// InstancesBeginning lists the instances, live or terminated, whose id begins
// with prefix, the newest first; limit bounds how many.
func (s *Store) InstancesBeginning(ctx context.Context, prefix string, limit int) ([]fleet.CapacityInstance, error) {
	prefix = storable(prefix)
	return browse(
		ctx,
		s,
		"find the instances whose id begins with "+prefix,
		decode[fleet.CapacityInstance],
		`SELECT record FROM instance WHERE substr(id, 1, $1) = $2 ORDER BY id DESC LIMIT $3`,
		utf8.RuneCountInString(prefix),
		prefix,
		limit,
	)
}

// InstancesEnding lists those whose id ends with suffix, in the same way.
func (s *Store) InstancesEnding(ctx context.Context, suffix string, limit int) ([]fleet.CapacityInstance, error) {
	suffix = storable(suffix)
	return browse(
		ctx,
		s,
		"find the instances whose id ends with "+suffix,
		decode[fleet.CapacityInstance],
		`SELECT record FROM instance WHERE length(id) >= $1 AND substr(id, length(id) - $1 + 1) = $2 ORDER BY id DESC LIMIT $3`,
		utf8.RuneCountInString(suffix),
		suffix,
		limit,
	)
}

// FleetAddresses are the addresses that fleets have or had, retired ones
// included: ended instances are still theirs.
func (s *Store) FleetAddresses(ctx context.Context) (map[fleet.RunnerFleetID]fleet.FleetAddress, error) {
	fleets, err := browse(
		ctx,
		s,
		"list the addresses of all fleets",
		decode[fleet.ManagedFleet],
		`SELECT record FROM fleet`,
	)
	addresses := make(map[fleet.RunnerFleetID]fleet.FleetAddress, len(fleets))
	for _, f := range fleets {
		addresses[f.ID] = f.Address
	}
	return addresses, err
}

// Operations lists the operations of an instance, the oldest first.
func (s *Store) Operations(ctx context.Context, instance fleet.CapacityInstanceID) ([]fleet.Operation, error) {
	return browse(ctx, s, "list the operations of instance "+string(instance), decodeOperation,
		`SELECT record, request FROM operation WHERE instance = $1 ORDER BY id`, storable(string(instance)))
}

// Decisions lists the newest decisions about a fleet, the newest first; limit 0: all.
func (s *Store) Decisions(ctx context.Context, id fleet.RunnerFleetID, limit int) ([]fleet.Decision, error) {
	query, arguments := `SELECT record FROM decision WHERE fleet = $1 ORDER BY at DESC, id DESC`, []any{
		storable(string(id)),
	}
	if limit > 0 {
		query, arguments = query+` LIMIT $2`, append(arguments, limit)
	}
	return browse(ctx, s, "list the decisions about fleet "+string(id), decode[fleet.Decision], query, arguments...)
}

// RecentDecisions lists the newest decisions about all fleets, the newest first.
func (s *Store) RecentDecisions(ctx context.Context, limit int) ([]fleet.Decision, error) {
	return browse(
		ctx,
		s,
		"list the newest decisions",
		decode[fleet.Decision],
		`SELECT record FROM decision ORDER BY at DESC, id DESC LIMIT $1`,
		limit,
	)
}

// RecentOperations lists the operations that were begun last, the newest first.
func (s *Store) RecentOperations(ctx context.Context, limit int) ([]fleet.Operation, error) {
	return browse(
		ctx,
		s,
		"list the newest operations",
		decodeOperation,
		`SELECT record, request FROM operation ORDER BY id DESC LIMIT $1`,
		limit,
	)
}

// browse reads records in a transaction of their own.
func browse[T any](
	ctx context.Context,
	s *Store,
	doing string,
	from func(row) (T, error),
	query string,
	args ...any,
) (found []T, err error) {
	err = s.read(ctx, doing, func(tx *sql.Tx) error {
		found, err = recordsOf(ctx, tx, from, query, args...)
		return err
	})
	return found, err
}
