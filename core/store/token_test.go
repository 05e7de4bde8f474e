package store

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func apiToken(name string) APIToken {
	return APIToken{
		ID:          "id of " + name,
		Name:        name,
		Permissions: []string{"fleet.read"},
		Fleets:      []fleet.FleetAddress{"fleet.linux"},
		Created:     now.Add(-2 * time.Hour),
		By:          "ada",
	}
}

func findsToken(t *testing.T, location string) {
	s := claim(t, open(t, location), "a")
	token := apiToken("ci")
	token.Expires = now.Add(-time.Minute)
	must(t, s.CreateAPIToken(t.Context(), token, "sha256:aa", AuditRecord{ID: "1", At: now, Action: "token create"}))
	got, found, err := s.APITokenByHash(t.Context(), "sha256:aa")
	must(t, err)
	if diff := cmp.Diff(token, got); !found || diff != "" {
		t.Errorf("found %v\n%s", found, diff)
	}
	if _, found, err := s.APITokenByHash(t.Context(), "sha256:bb"); err != nil || found {
		t.Errorf("another digest: found %v, error %v", found, err)
	}
	all, err := s.APITokens(t.Context())
	must(t, err)
	if diff := cmp.Diff([]APIToken{token}, all); diff != "" {
		t.Error(diff)
	}
	_, err = s.Prune(t.Context(), now)
	must(t, err)
	if _, found, err := s.APITokenByHash(t.Context(), "sha256:aa"); err != nil || found {
		t.Errorf("after pruning: found %v, error %v", found, err)
	}
}

func oneTokenOfAName(t *testing.T, location string) {
	s := claim(t, open(t, location), "a")
	create := func(id, hash string, created, expires time.Time) error {
		token := apiToken("ci")
		token.ID, token.Created, token.Expires = id, created, expires
		return s.CreateAPIToken(
			context.WithoutCancel(t.Context()),
			token,
			hash,
			AuditRecord{ID: "making of " + id, At: created},
		)
	}
	must(t, create("1", "a", now, now.Add(time.Hour)))
	var wait sync.WaitGroup
	var taken atomic.Int32
	for n := range 4 {
		wait.Go(func() {
			refused[*NameTakenError](t, create(id("other", n), id("hash", n), now, time.Time{}))
			taken.Add(1)
		})
	}
	wait.Wait()
	audit, err := s.Audit(t.Context(), 0)
	must(t, err)
	if taken.Load() != 4 || len(audit) != 1 {
		t.Errorf("%d were refused, and the audit is %v", taken.Load(), audit)
	}
	must(t, create("2", "b", now.Add(time.Hour), time.Time{})) // the first has just expired
	first, _, err := s.APITokenByHash(t.Context(), "a")
	must(t, err)
	if !first.Revoked.Equal(now.Add(time.Hour)) {
		t.Errorf("the expired token counts as revoked at %s", first.Revoked)
	}
	if err := create("3", "b", now.Add(2*time.Hour), time.Time{}); err == nil {
		t.Error("two tokens have one secret")
	}
	_, err = s.RevokeAPIToken(t.Context(), "2", now.Add(2*time.Hour), AuditRecord{ID: "r", At: now})
	must(t, err)
	must(t, create("4", "d", now.Add(2*time.Hour), time.Time{}))
}

func revokesToken(t *testing.T, location string) {
	s := claim(t, open(t, location), "a")
	must(t, s.CreateAPIToken(t.Context(), apiToken("ci"), "aa", AuditRecord{ID: "1", At: now}))
	for n, want := range []bool{true, false} {
		found, err := s.RevokeAPIToken(t.Context(), "id of ci", now, AuditRecord{ID: id("revoke", n), At: now})
		if err != nil || found != want {
			t.Errorf("time %d: found %v, error %v", n, found, err)
		}
	}
	got, _, err := s.APITokenByHash(t.Context(), "aa")
	must(t, err)
	audit, err := s.Audit(t.Context(), 0)
	must(t, err)
	if !got.Revoked.Equal(now) || len(audit) != 2 {
		t.Errorf("revoked %s; audit %v", got.Revoked, audit)
	}
	reader := open(t, location)
	if _, err := reader.RevokeAPIToken(t.Context(), "id of ci", now, AuditRecord{}); err == nil {
		t.Error("a process that isn't the writer revoked a token")
	}
}

func listsAudit(t *testing.T, location string) {
	s := claim(t, open(t, location), "a")
	for n := range 3 {
		must(
			t,
			s.AppendAudit(
				t.Context(),
				AuditRecord{
					ID:     id("audit", n),
					At:     now.Add(time.Duration(n) * time.Minute),
					By:     "ada\x00\xff",
					Action: "apply",
					Detail: "definition",
				},
			),
		)
	}
	for limit, want := range map[int][]string{0: {"02", "01", "00"}, 2: {"02", "01"}} {
		got, err := s.Audit(t.Context(), limit)
		must(t, err)
		if diff := cmp.Diff(want, numbers(got, func(r AuditRecord) string { return r.ID })); diff != "" {
			t.Errorf("limit %d:\n%s", limit, diff)
		}
		if got[0].By != "ada\x00\uFFFD" || !got[0].At.Equal(now.Add(2*time.Minute)) {
			t.Errorf("got %+v", got[0])
		}
	}
}
