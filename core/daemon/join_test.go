package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
)

// labManager is a manager that doesn't run, at a time of the test's own, with two
// fleets of joined hosts: fleet.any takes a and b, fleet.one only b.
func labManager(t *testing.T, now *time.Time) *Daemon {
	t.Helper()
	o := workspacetest.Options(t)
	o.Clock = func() time.Time { return *now }
	m := open(t, o)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	agents := t.TempDir()
	if err := os.WriteFile(filepath.Join(agents, "forgeyard-runner-linux-amd64"), []byte("an agent"), 0o600); err != nil {
		t.Fatal(err)
	}
	linux := fleet.Platform{OS: "linux", Arch: "x86_64"}
	definition := fleet.Definition{
		Installation: "demo", Manager: fleet.ManagerSettings{Advertise: "https://fleet.example:7443", Agents: agents},
		Providers: []fleet.Provider{{Address: "manual.lab", Assets: []fleet.Asset{
			{
				ID:       "a",
				Platform: linux,
			},
			{ID: "b", Platform: linux},
			{ID: "mac", Platform: fleet.Platform{OS: "darwin", Arch: "arm64"}},
		}}},
	}
	apply := store.Apply{Definition: definition, At: *now}
	for name, hosts := range map[string]string{"any": `{}`, "one": `{"hosts":["b"]}`} {
		f := fleet.ManagedFleet{ID: fleet.RunnerFleetID(name), Operational: fleet.FleetActive}
		f.Address, f.Provider, f.Joined, f.Instance = fleet.FleetAddress("fleet."+name), "manual.lab", true, []byte(hosts)
		f.Class.Platform, f.Scaling.Max = linux, 1
		apply.Fleets = append(apply.Fleets, f)
	}
	if _, err := m.store.ApplyDefinition(t.Context(), apply); err != nil {
		t.Fatal(err)
	}
	return m
}

// takeUp writes what claims ask for, as the first step of the loop does, and gives the
// state with it.
func takeUp(t *testing.T, m *Daemon) snapshot.State {
	t.Helper()
	state, err := m.store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.store.Commit(t.Context(),
		store.Change{Instances: state.Instances, Operations: state.Operations}); err != nil {
		t.Fatal(err)
	}
	return state
}

func TestJoinClaimsTheHostBeforeAnybodySeesItsToken(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := labManager(t, &now)
	ctx := as(t, access.LocalUser("ada"))
	ticket, err := m.Join(ctx, orders.JoinRequest{Host: "a"})
	if err != nil {
		t.Fatal(err)
	}
	state, err := m.store.Load(ctx)
	if err != nil || len(state.Claims) != 1 || len(state.Instances) != 1 {
		t.Fatalf("%v: %+v", err, state)
	}
	claim, i := state.Claims[0], state.Instances[0]
	if ticket.Fleet != "fleet.any" || ticket.Instance != i.ID || !ticket.Expires.Equal(now.Add(24*time.Hour)) ||
		ticket.Renewed ||
		i.Asset != "a" {
		t.Errorf("%+v for %+v", ticket, i)
	}
	token := tokenIn(t, ticket.Command)
	if _, err := m.store.TokenSubjects(ctx, i.Key); err == nil {
		t.Error("the token is good before the loop has written its instance")
	}
	takeUp(t, m)
	subject, _, err := m.store.EnrollmentSubject(ctx, i.Key)
	if err != nil || !m.Enrollment.Verify(token, subject.Operation) ||
		!subject.Operation.TokenExpires.Equal(claim.Expires) {
		t.Errorf("the token isn't good: %v", err)
	}
	if !strings.Contains(ticket.Command, "'https://fleet.example:7443/v1/runner/download?target=linux-amd64'") ||
		strings.Contains(ticket.Command, "\n") {
		t.Errorf("the line: %s", ticket.Command)
	}
	stored, err := json.Marshal(state)
	if err != nil || strings.Contains(string(stored), token) {
		t.Errorf("the token is in the store: %v", err)
	}
	// Again: another token, and this one is void.
	now = now.Add(time.Hour)
	again, err := m.Join(ctx, orders.JoinRequest{Host: "a"})
	if err != nil || !again.Renewed || again.Instance != i.ID || !again.Expires.Equal(now.Add(24*time.Hour)) {
		t.Fatalf("again: %+v, %v", again, err)
	}
	subject, _, err = m.store.EnrollmentSubject(ctx, i.Key)
	if err != nil || m.Enrollment.Verify(token, subject.Operation) ||
		!m.Enrollment.Verify(tokenIn(t, again.Command), subject.Operation) {
		t.Errorf("the first token is still good, or the second isn't: %v", err)
	}
}

// tokenIn is the token in a line.
func tokenIn(t *testing.T, line string) string {
	t.Helper()
	_, rest, found := strings.Cut(line, `"token":"`)
	token, _, ends := strings.Cut(rest, `"`)
	if !found || !ends {
		t.Fatalf("no token in %s", line)
	}
	return token
}

func TestJoinRefusesWhatIsNoOneHostOfOneFleet(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := labManager(t, &now)
	all := access.LocalUser("ada")
	limited := all
	limited.Fleets = []fleet.FleetAddress{"fleet.one"}
	for n, c := range []struct {
		caller  access.Caller
		request orders.JoinRequest
		want    string
	}{
		{all, orders.JoinRequest{Host: "z"}, "hosts in inventories: a, b, mac"},
		{all, orders.JoinRequest{Host: "b"}, "name one with --fleet: fleet.any, fleet.one"},
		{all, orders.JoinRequest{Host: "a", Fleet: "one"}, "the fleet's hosts are b"},
		{all, orders.JoinRequest{Host: "a", Fleet: "nothing"}, "the host a is not in an inventory of"},
		{all, orders.JoinRequest{Host: "mac"}, "requires linux/x86_64"},
		{limited, orders.JoinRequest{Host: "a"}, "the fleet's hosts are b"},
		{access.Caller{Name: "eve", Permissions: []access.Permission{access.ReadFleets}}, orders.JoinRequest{Host: "a"},
			"it needs the permission fleet.manage"},
	} {
		if ticket, err := m.Join(as(t, c.caller), c.request); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d: %+v, %v; want %q", n, ticket, err, c.want)
		}
	}
	state, err := m.store.Load(t.Context())
	if err != nil || len(state.Claims)+len(state.Instances) > 0 {
		t.Errorf("what was refused left something: %v, %+v", err, state.Claims)
	}
}

func TestJoinRefusesAFullFleetAndAHostThatIsJoined(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := labManager(t, &now)
	ctx := as(t, access.LocalUser("ada"))
	ticket, err := m.Join(ctx, orders.JoinRequest{Host: "a"})
	if err != nil {
		t.Fatal(err)
	}
	conflict := func(what string, r orders.JoinRequest, want string) {
		t.Helper()
		_, err := m.Join(ctx, r)
		if refused, ok := errors.AsType[*access.ConflictError](err); !ok || !strings.Contains(refused.Reason, want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	conflict("a full fleet", orders.JoinRequest{Host: "b", Fleet: "any"}, "max = 1")
	state := takeUp(t, m)
	i := state.Instances[0]
	if err := m.store.Enroll(
		ctx,
		fleet.Runner{ID: "r1", Instance: i.ID, Fleet: i.Fleet, Operation: i.Key},
		state.Claims[0].TokenHash,
	); err != nil {
		t.Fatal(err)
	}
	conflict(
		"an enrolled host",
		orders.JoinRequest{Host: "a"},
		fmt.Sprintf("is joined to fleet.any (instance %s", ticket.Instance),
	)
}

func TestAPersonHearsWhatMayKeepTheLineFromWorking(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := labManager(t, &now)
	linux := fleet.Platform{OS: "linux", Arch: "x86_64"}
	if _, notes, err := m.joinBootstrap(
		t.Context(),
		"manual.lab",
		linux,
	); err != nil || len(notes) != 1 ||
		!strings.Contains(notes[0], "No manager is running") {
		t.Errorf("%v, %v", notes, err)
	}
	if _, _, err := m.joinBootstrap(
		t.Context(),
		"manual.lab",
		fleet.Platform{OS: "linux", Arch: "arm64"},
	); err == nil ||
		!strings.Contains(err.Error(), "no agent binary for linux-arm64") {
		t.Errorf("a platform without an agent: %v", err)
	}
	for address, here := range map[string]bool{"https://127.0.0.1:1": true, "https://[::]:7443": true,
		"https://localhost:2": true, "https://10.0.0.1:1": false} {
		if onlyHere(address) != here {
			t.Errorf("%s: %t", address, !here)
		}
	}
}
