package access

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// installation is a store with its tokens and its audit.
type installation struct {
	TokenStore
	AuditLog
	store *store.Store
	dir   string
	clock func() time.Time
}

// withFleets is an installation at a time of the test's own whose store has fleets
// of the given addresses.
func withFleets(t *testing.T, now *time.Time, addresses ...fleet.FleetAddress) *installation {
	t.Helper()
	clock := time.Now
	if now != nil {
		clock = func() time.Time { return *now }
	}
	dir := t.TempDir()
	s, err := store.Open(t.Context(), filepath.Join(dir, "fleet.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Claim(t.Context(), "the test", clock()); err != nil {
		t.Fatal(err)
	}
	apply := store.Apply{Definition: fleet.Definition{Installation: "demo"}, At: clock()}
	for _, a := range addresses {
		apply.Fleets = append(
			apply.Fleets,
			fleet.ManagedFleet{ID: fleet.RunnerFleetID(a), RunnerFleet: fleet.RunnerFleet{Address: a}},
		)
	}
	if _, err := s.ApplyDefinition(t.Context(), apply); err != nil {
		t.Fatal(err)
	}
	return &installation{TokenStore: NewTokenStore(s, clock), AuditLog: NewAuditLog(s), store: s, dir: dir, clock: clock}
}

func as(t *testing.T, c Caller) context.Context {
	t.Helper()
	return WithCaller(t.Context(), c)
}

func create(t *testing.T, m *installation, c Caller, wanted NewToken) (Token, string) {
	t.Helper()
	token, secret, err := m.CreateToken(as(t, c), wanted)
	if err != nil {
		t.Fatal(err)
	}
	return token, secret
}

func TestATokensSecretAuthenticatesUntilItsEnd(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withFleets(t, &now, "fleet.linux")
	owner := LocalUser("ada")
	_, lasting := create(
		t,
		m,
		owner,
		NewToken{
			Name:        "lasting",
			Permissions: []Permission{ReadFleets, ScaleFleets},
			Fleets:      []fleet.FleetAddress{"fleet.linux"},
		},
	)
	_, short := create(t, m, owner, NewToken{Name: "short", Permissions: []Permission{ReadFleets}, For: time.Hour})

	got, err := m.Authenticate(t.Context(), lasting)
	if err != nil {
		t.Fatal(err)
	}
	want := Caller{
		Name:        "token lasting",
		Permissions: []Permission{ReadFleets, ScaleFleets},
		Fleets:      []fleet.FleetAddress{"fleet.linux"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c, err := m.Authenticate(t.Context(), short); err != nil || !c.Until.Equal(now.Add(time.Hour)) {
		t.Errorf("the short one: %v, %v", c, err)
	}
	if !strings.HasPrefix(short, "fyk_") || len(short) != 56 || short == lasting {
		t.Errorf("the secret is %d characters long", len(short))
	}
	now = now.Add(time.Hour)
	refuses := func(why, secret string) {
		t.Helper()
		if c, err := m.Authenticate(t.Context(), secret); !errors.Is(err, ErrUnauthenticated) || len(c.Permissions) > 0 {
			t.Errorf("%s: got %v, %v", why, c, err)
		}
	}
	refuses("expired", short)
	if err := m.DeleteToken(as(t, owner), "lasting"); err != nil {
		t.Fatal(err)
	}
	refuses("revoked", lasting)
	refuses("empty", "")
	refuses("another", secretPrefix+strings.Repeat("A", 52))
	refuses("lower case", strings.ToLower(lasting))
	refuses("endless", secretPrefix+strings.Repeat("A", 1<<20))
}

func TestATokensSecretIsNowhereInTheStore(t *testing.T) {
	m := withFleets(t, nil)
	_, secret := create(t, m, LocalUser("ada"), NewToken{Name: "ci", Permissions: AllPermissions()})
	for _, name := range []string{"fleet.db", "fleet.db-wal"} {
		content, err := os.ReadFile(m.dir + "/" + name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if strings.Contains(string(content), secret) || strings.Contains(string(content), secret[4:]) {
			t.Errorf("%s holds the secret", name)
		}
	}
}

func TestATokenThatWouldBeUselessIsRefused(t *testing.T) {
	m := withFleets(t, nil, "fleet.linux", `fleet.each["a"]`)
	create(t, m, LocalUser("ada"), NewToken{Name: "taken", Permissions: []Permission{ReadFleets}})
	read := []Permission{ReadFleets}
	for name, test := range map[string]struct {
		wanted NewToken
		says   string
	}{
		"no name":       {NewToken{Permissions: read}, "use lower-case letters"},
		"no permission": {NewToken{Name: "x"}, "give one or more of fleet.read"},
		"an unknown one": {NewToken{Name: "x", Permissions: []Permission{"fleet.own"}},
			`invalid permission "fleet.own"`},
		"a time that is over": {NewToken{Name: "x", Permissions: read, For: -time.Hour}, "1h0m0s ago"},
		"a misspelled fleet": {NewToken{Name: "x", Permissions: read, Fleets: []fleet.FleetAddress{"fleet.linus"}},
			`fleet "fleet.linus"`},
		"a fleet's bare name": {NewToken{Name: "x", Permissions: read, Fleets: []fleet.FleetAddress{"linux"}},
			"write fleet.NAME"},
		"a block that's there": {
			NewToken{Name: "each", Permissions: read, Fleets: []fleet.FleetAddress{"fleet.each", `fleet.each["a"]`}}, ""},
	} {
		_, _, err := m.CreateToken(as(t, LocalUser("ada")), test.wanted)
		if test.says == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if invalid, ok := errors.AsType[*InvalidError](err); !ok || !strings.Contains(invalid.Reason, test.says) {
			t.Errorf("%s: got %v, want an InvalidError with %q", name, err, test.says)
		}
	}
	_, _, err := m.CreateToken(as(t, LocalUser("ada")), NewToken{Name: "taken", Permissions: read})
	if _, ok := errors.AsType[*ConflictError](err); !ok {
		t.Errorf("a taken name: %v", err)
	}
}

func TestATokenCannotGrantWhatItsMakerLacks(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withFleets(t, &now, "fleet.linux", "fleet.mac")
	maker := Caller{
		Name:        "token maker",
		Permissions: []Permission{ReadFleets, ManageFleets},
		Fleets:      []fleet.FleetAddress{"fleet.linux"},
		Until:       now.Add(time.Hour),
	}
	read, linux := []Permission{ReadFleets}, []fleet.FleetAddress{"fleet.linux"}
	for name, test := range map[string]struct {
		wanted  NewToken
		allowed bool
	}{
		"within everything": {NewToken{Name: "a", Permissions: read, Fleets: linux, For: time.Hour}, true},
		"a permission more": {
			NewToken{Name: "b", Permissions: []Permission{ScaleFleets}, Fleets: linux, For: time.Hour}, false},
		"another fleet": {
			NewToken{Name: "c", Permissions: read, Fleets: []fleet.FleetAddress{"fleet.linux", "fleet.mac"}, For: time.Hour},
			false},
		"all fleets": {NewToken{Name: "d", Permissions: read, For: time.Hour}, false},
		"a minute longer": {NewToken{Name: "e", Permissions: read, Fleets: linux, For: time.Hour + time.Minute},
			false},
		"for ever": {NewToken{Name: "f", Permissions: read, Fleets: linux}, false},
		"a permission twice is fine": {
			NewToken{Name: "g", Permissions: []Permission{ReadFleets, ReadFleets}, Fleets: linux, For: time.Minute}, true},
	} {
		_, _, err := m.CreateToken(as(t, maker), test.wanted)
		if (err == nil) != test.allowed {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := m.CreateToken(t.Context(), NewToken{Name: "z", Permissions: read}); err == nil {
		t.Error("a caller without a name made a token")
	}
}

func TestALimitedCallerSeesAndRevokesOnlyTokensThatReachNoFurther(t *testing.T) {
	m := withFleets(t, nil, "fleet.linux", "fleet.mac")
	owner, read := LocalUser("ada"), []Permission{ReadFleets}
	create(t, m, owner, NewToken{Name: "all", Permissions: read})
	create(t, m, owner, NewToken{Name: "linux", Permissions: read, Fleets: []fleet.FleetAddress{"fleet.linux"}})
	create(
		t,
		m,
		owner,
		NewToken{Name: "both", Permissions: read, Fleets: []fleet.FleetAddress{"fleet.linux", "fleet.mac"}},
	)
	limited := Caller{Name: "token limited", Permissions: AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.linux"}}
	tokens, err := m.Tokens(as(t, limited))
	if err != nil || len(tokens) != 1 || tokens[0].Name != "linux" {
		t.Errorf("sees %v, %v", tokens, err)
	}
	if _, ok := errors.AsType[*NotFoundError](m.DeleteToken(as(t, limited), "all")); !ok {
		t.Error("it revoked a token for all fleets")
	}
	if err := m.DeleteToken(as(t, limited), tokens[0].ID); err != nil {
		t.Error(err)
	}
	if _, ok := errors.AsType[*NotFoundError](m.DeleteToken(as(t, owner), "linux")); !ok {
		t.Error("a token was revoked twice")
	}
	mine, err := m.Audit(as(t, limited), 0)
	if err != nil || len(mine) != 1 || mine[0].Action != "token delete" {
		t.Errorf("a limited caller's audit: %v, %v", mine, err)
	}
}

func TestEveryMakingAndRevokingOfATokenIsAudited(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := withFleets(t, &now)
	token, secret := create(
		t,
		m,
		LocalUser("ada"),
		NewToken{Name: "ci", Permissions: []Permission{ReadFleets}, For: time.Hour},
	)
	if _, _, err := m.CreateToken(
		as(t, LocalUser("bob")),
		NewToken{Name: "ci", Permissions: []Permission{ReadFleets}},
	); err == nil {
		t.Fatal("a name was taken twice")
	}
	now = now.Add(time.Minute)
	if err := m.DeleteToken(as(t, LocalUser("bob")), token.ID); err != nil {
		t.Fatal(err)
	}
	applied, err := NewAuditRecord(as(t, LocalUser("cyd")), now, "apply", "definition 2")
	if err == nil {
		err = m.store.AppendAudit(t.Context(), applied)
	}
	if err != nil {
		t.Fatal(err)
	}
	records, err := m.Audit(as(t, LocalUser("ada")), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range records {
		got = append(got, r.At.Format("15:04")+" "+r.By+" "+r.Action+" "+r.Detail)
		if strings.Contains(r.Detail, secret) {
			t.Error("the audit holds a secret")
		}
	}
	slices.Sort(got)
	want := []string{
		`10:00 ada token create token "ci" (` + token.ID + `) with fleet.read for all fleets, until 2026-05-04T11:00:00Z`,
		`10:01 bob token delete token "ci" (` + token.ID + `)`,
		`10:01 cyd apply definition 2`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if newest, err := m.Audit(as(t, LocalUser("ada")), 1); err != nil || len(newest) != 1 {
		t.Errorf("the newest: %v, %v", newest, err)
	}
}

func TestTokensAndAuditNeedThePermissionThatTheTableNames(t *testing.T) {
	m := withFleets(t, nil)
	calls := map[string]func(context.Context) error{
		"token create": func(ctx context.Context) error {
			_, _, err := m.CreateToken(ctx, NewToken{Name: "x", Permissions: []Permission{ManageFleets}})
			return err
		},
		"token list":   func(ctx context.Context) error { _, err := m.Tokens(ctx); return err },
		"token delete": func(ctx context.Context) error { return m.DeleteToken(ctx, "x") },
		"audit":        func(ctx context.Context) error { _, err := m.Audit(ctx, 1); return err },
	}
	for useCase, call := range calls {
		for _, p := range AllPermissions() {
			_, denied := errors.AsType[*DeniedError](call(as(t, Caller{Name: "one", Permissions: []Permission{p}})))
			if allowed := p == Permissions[useCase]; denied == allowed {
				t.Errorf("%s with %s alone: denied is %v", useCase, p, denied)
			}
		}
		if _, denied := errors.AsType[*DeniedError](call(t.Context())); !denied {
			t.Errorf("%s of no one is allowed", useCase)
		}
	}
}
