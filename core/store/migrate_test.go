package store

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/pressly/goose/v3"
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
	if newer.Stored != 9999 || newer.Known != 13 || !strings.Contains(err.Error(), "use the newer program") {
		t.Errorf("unhelpful refusal: %v", err)
	}
}
