package store

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

func opensAgain(t *testing.T, location string) {
	first := applied(t, open(t, location))
	must(t, first.Commit(t.Context(), change(1, 3)))
	again := open(t, location)
	state, err := again.Load(t.Context())
	must(t, err)
	if len(state.Instances) != 3 || state.Serial != 1 {
		t.Errorf("got %d instances at serial %d, want 3 at 1", len(state.Instances), state.Serial)
	}
}

func opensAtOnce(t *testing.T, location string) {
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			s, err := Open(t.Context(), location)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	applied(t, open(t, location))
}

func refusesNewer(t *testing.T, location string) {
	s := open(t, location)
	_, err := s.writer.ExecContext(t.Context(), fmt.Sprintf(
		`INSERT INTO %s (version_id, is_applied) VALUES (9999, %s)`, goose.DefaultTablename,
		map[goose.Dialect]string{goose.DialectSQLite3: "1", goose.DialectPostgres: "true"}[s.dialect.goose]))
	must(t, err)
	opened, err := Open(context.Background(), location)
	if err == nil {
		must(t, opened.Close())
	}
	newer := refused[*NewerError](t, err)
	if newer.Stored != 9999 || newer.Known != 14 || !strings.Contains(err.Error(), "use the newer program") {
		t.Errorf("unhelpful refusal: %v", err)
	}
}

// keepsEarlierRows: what a program before version 13 stored is there afterwards.
func keepsEarlierRows(t *testing.T, location string) {
	old := openAt(t, location, 12)
	first := claimed(1, "mini-1")
	insert := func(statement string, values ...any) {
		t.Helper()
		_, err := old.writer.ExecContext(t.Context(), statement, values...)
		must(t, err)
	}
	record := func(value any) string { return got[string](t)(encode(value)) }
	insert(`INSERT INTO fleet (id, address, retired, serial, record) VALUES ($1, $2, 0, 1, $3)`,
		string(managed(1).ID), string(managed(1).Address), record(managed(1)))
	insert(`INSERT INTO instance (id, fleet, state, since, paid_until, revision, record) VALUES ($1, $2, $3, 0, 0, 1, $4)`,
		string(first.Instance.ID), string(first.Instance.Fleet), string(first.Instance.State), record(first.Instance))
	insert(`INSERT INTO claim (provider, asset, instance, record) VALUES ($1, $2, $3, $4)`,
		string(first.Claim.Provider), first.Claim.Asset, string(first.Claim.Instance), record(first.Claim))
	scale := fleet.FleetScaleOverride{Fleet: managed(1).ID, Until: now.Add(time.Hour)}
	cost := fleet.CostOverride{Fleet: managed(1).ID, Until: now.Add(time.Hour)}
	for kind, value := range map[string]any{"override": scale, "break_glass": cost} {
		insert(`INSERT INTO standing_order (kind, subject, expires, record) VALUES ($1, $2, $3, $4)`,
			kind, string(managed(1).ID), now.Add(time.Hour).UnixMicro(), record(value))
	}
	must(t, old.Close())

	s := open(t, location)
	state := got[snapshot.State](t)(s.Load(t.Context()))
	if diff := cmp.Diff([]fleet.AssetClaim{first.Claim}, state.Claims); diff != "" {
		t.Errorf("claims: %s", diff)
	}
	if len(state.Instances) != 1 || len(state.Unwritten) != 0 {
		t.Errorf("%d instances, to be written %v", len(state.Instances), state.Unwritten)
	}
	overrides := got[fleet.Overrides](t)(s.Overrides(t.Context()))
	if len(overrides.ScaleOverrides) != 1 || len(overrides.CostOverrides) != 1 {
		t.Errorf("overrides: %+v", overrides)
	}
	claim(t, s, "newer")
	if cleared, err := s.ClearOverride(t.Context(), cost, AuditRecord{ID: "clear", At: now}); err != nil || !cleared {
		t.Errorf("the cost override isn't found by its kind: %v", err)
	}
}

// openAt is a store whose tables have an earlier version.
func openAt(t *testing.T, location string, version int64) *Store {
	t.Helper()
	begin := openSQLite
	if isPostgres(location) {
		begin = openPostgres
	}
	s, err := begin(location)
	must(t, err)
	files, err := fs.Sub(migrations, "migrations")
	must(t, err)
	provider, err := goose.NewProvider(s.dialect.goose, s.writer, files,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	must(t, err)
	_, err = provider.UpTo(t.Context(), version)
	must(t, err)
	return s
}
