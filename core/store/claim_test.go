package store

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// claimed is instance n on an asset, with its operation and a join token.
func claimed(n int, asset string) NewClaim {
	instance, operation := provisioned(n)
	instance.Provider, operation.Provider, instance.Asset = "manual.lab", "manual.lab", asset
	return NewClaim{
		Instance: instance, Operation: operation, Serial: 1, Max: 4,
		Claim: fleet.AssetClaim{Provider: "manual.lab", Asset: asset, Instance: instance.ID, At: now, By: "ada",
			Nonce: []byte(id("nonce", n)), TokenHash: id("hash", n), Expires: now.Add(fleet.JoinTokenLife)},
		Audit: AuditRecord{ID: id("audit", n), At: now, By: "ada", Action: "token create --join", Detail: asset},
	}
}

// takeUp writes what claims ask for, as a step of the loop does.
func takeUp(t *testing.T, s *Store) {
	t.Helper()
	state := got[snapshot.State](t)(s.Load(t.Context()))
	var c Change
	for _, id := range state.Unwritten {
		n := slices.IndexFunc(state.Instances, func(i fleet.CapacityInstance) bool { return i.ID == id })
		i := state.Instances[n]
		n = slices.IndexFunc(state.Operations, func(op fleet.Operation) bool { return op.ID == i.Key })
		c.Instances, c.Operations = append(c.Instances, i), append(c.Operations, state.Operations[n])
	}
	must(t, s.Commit(t.Context(), c))
}

func keepsClaimUntilItIsTakenUp(t *testing.T, location string) {
	s := applied(t, open(t, location))
	first := claimed(1, "mini-1")
	must(t, s.ClaimAsset(t.Context(), first))
	// Another manager begins where this one was killed.
	s = open(t, location)
	claim(t, s, "the next")
	for range 2 { // what is loaded and not committed is there again
		state := got[snapshot.State](t)(s.Load(t.Context()))
		want := []fleet.CapacityInstanceID{first.Instance.ID}
		if diff := cmp.Diff(want, state.Unwritten); diff != "" {
			t.Errorf("to be written: %s", diff)
		}
		if diff := cmp.Diff([]fleet.CapacityInstance{first.Instance}, state.Instances); diff != "" {
			t.Errorf("instances: %s", diff)
		}
		if diff := cmp.Diff([]fleet.Operation{first.Operation}, state.Operations); diff != "" {
			t.Errorf("operations: %s", diff)
		}
	}
	pending := refused[*fleet.ClaimPendingError](t, tokenError(s.TokenSubjects(t.Context(), first.Operation.ID)))
	if pending.Operation != first.Operation.ID {
		t.Errorf("it is of operation %s", pending.Operation)
	}
	renewed := first.Claim
	renewed.Nonce, renewed.TokenHash = []byte("another"), "another hash"
	must(t, s.RenewJoinToken(t.Context(), renewed, AuditRecord{ID: "again", At: now}))

	takeUp(t, s)
	state := got[snapshot.State](t)(s.Load(t.Context()))
	if len(state.Unwritten) != 0 || len(state.Instances) != 1 {
		t.Errorf("after the step: %d instances, to be written %v", len(state.Instances), state.Unwritten)
	}
	subjects, err := s.TokenSubjects(t.Context(), first.Operation.ID)
	if err != nil || len(subjects) != 1 || subjects[0].Operation.TokenHash != "another hash" {
		t.Errorf("%v: the token is bound to %+v", err, subjects)
	}
	if none, err := s.TokenSubjects(t.Context(), "another"); err != nil || len(none) != 0 {
		t.Errorf("an operation that no claim asks for: %v, %v", none, err)
	}
}

func tokenError(_ []fleet.EnrollmentSubject, err error) error { return err }

func claimsAssetOnce(t *testing.T, location string) {
	s := applied(t, open(t, location))
	var wins atomic.Int32
	var both sync.WaitGroup
	for n := 1; n <= 2; n++ {
		both.Go(func() {
			switch err := s.ClaimAsset(t.Context(), claimed(n, "mini-1")); {
			case err == nil:
				wins.Add(1)
			default:
				taken, ok := errors.AsType[*AssetTakenError](err)
				if !ok || taken.Claim.Asset != "mini-1" {
					t.Errorf("the slower one hears: %v", err)
				}
			}
		})
	}
	both.Wait()
	state := got[snapshot.State](t)(s.Load(t.Context()))
	if wins.Load() != 1 || len(state.Claims) != 1 || len(state.Instances) != 1 || len(state.Operations) != 1 {
		t.Fatalf(
			"%d won; there are %d claims, %d instances and %d operations",
			wins.Load(),
			len(state.Claims),
			len(state.Instances),
			len(state.Operations),
		)
	}
	if state.Claims[0].Instance != state.Instances[0].ID || state.Instances[0].Key != state.Operations[0].ID {
		t.Errorf("they don't belong together: %+v", state)
	}
	if records := got[[]AuditRecord](t)(s.Audit(t.Context(), 0)); len(records) != 1 {
		t.Errorf("%d audit records", len(records))
	}
	// An earlier writer can't claim at all, and another provider's host of the
	// same name is another host.
	other := open(t, location)
	claim(t, other, "the next")
	refused[*FencedError](t, s.ClaimAsset(t.Context(), claimed(3, "mini-2")))
	elsewhere := claimed(4, "mini-1")
	elsewhere.Claim.Provider = "manual.attic"
	must(t, other.ClaimAsset(t.Context(), elsewhere))
}

func releasesAsset(t *testing.T, location string) {
	s := applied(t, open(t, location))
	first := claimed(1, "mini-1")
	must(t, s.ClaimAsset(t.Context(), first))
	takeUp(t, s)
	must(t, s.Enroll(t.Context(), enrolled(1), first.Claim.TokenHash))
	subject, _, err := s.EnrollmentSubject(t.Context(), first.Operation.ID)
	must(t, err)
	if subject.Operation.TokenHash != first.Claim.TokenHash || !subject.Operation.TokenExpires.Equal(first.Claim.Expires) {
		t.Errorf("the token of the claim isn't the one that enrollment asks for: %+v", subject.Operation)
	}
	end := first.Instance
	end.State, end.Since = fleet.Terminating, now.Add(time.Minute)
	must(t, s.Commit(t.Context(), Change{Instances: []fleet.CapacityInstance{end}}))
	refused[*AssetTakenError](t, s.ClaimAsset(t.Context(), claimed(2, "mini-1")))

	end.State = fleet.Terminated
	must(t, s.Commit(t.Context(), Change{Instances: []fleet.CapacityInstance{end}}))
	subject, _, err = s.EnrollmentSubject(t.Context(), first.Operation.ID)
	must(t, err)
	if !subject.Runner.Revoked.Equal(end.Since) {
		t.Errorf("the runner was revoked at %v, its host released at %v", subject.Runner.Revoked, end.Since)
	}
	must(t, s.ClaimAsset(t.Context(), claimed(2, "mini-1")))
	state := got[snapshot.State](t)(s.Load(t.Context()))
	if len(state.Claims) != 1 || state.Claims[0].Instance != provisionedID(2) {
		t.Errorf("claims: %+v", state.Claims)
	}
}

func provisionedID(n int) fleet.CapacityInstanceID {
	i, _ := provisioned(n)
	return i.ID
}

func refusesClaim(t *testing.T, location string) {
	s := applied(t, open(t, location))
	full := claimed(2, "mini-2")
	full.Max = 1
	must(t, s.ClaimAsset(t.Context(), claimed(1, "mini-1")))
	refused[*ClaimRefusedError](t, s.ClaimAsset(t.Context(), full)) // the claim counts
	takeUp(t, s)
	refused[*ClaimRefusedError](t, s.ClaimAsset(t.Context(), full)) // its instance does, once
	stale := claimed(2, "mini-2")
	stale.Serial = 9
	refused[*ClaimRefusedError](t, s.ClaimAsset(t.Context(), stale))
	leaving := managed(1)
	leaving.Operational = fleet.FleetDraining
	_, err := s.ApplyDefinition(
		t.Context(),
		Apply{
			Expect:     1,
			Definition: fleet.Definition{Installation: "lab", Removed: []fleet.FleetAddress{leaving.Address}},
			At:         now,
			By:         "ada",
			Fleets:     []fleet.ManagedFleet{leaving},
		},
	)
	must(t, err)
	refused[*ClaimRefusedError](t, s.ClaimAsset(t.Context(), claimed(2, "mini-2")))
	if state := got[snapshot.State](t)(s.Load(t.Context())); len(state.Instances) != 1 || len(state.Claims) != 1 {
		t.Errorf("what was refused left something behind: %+v", state)
	}
}

func renewsJoinToken(t *testing.T, location string) {
	s := applied(t, open(t, location))
	first := claimed(1, "mini-1")
	must(t, s.ClaimAsset(t.Context(), first))
	renewed := first.Claim
	renewed.Nonce, renewed.TokenHash = []byte("another"), "another hash"
	must(t, s.RenewJoinToken(t.Context(), renewed, AuditRecord{ID: "again", At: now}))
	takeUp(t, s)
	// A step that saw the claim before writes the operation; the token stays.
	must(t, s.Commit(t.Context(), Change{Operations: []fleet.Operation{first.Operation}}))
	subject, _, err := s.EnrollmentSubject(t.Context(), first.Operation.ID)
	must(t, err)
	if diff := cmp.Diff(
		renewed,
		got[snapshot.State](t)(s.Load(t.Context())).Claims[0],
	); diff != "" ||
		subject.Operation.TokenHash != "another hash" {
		t.Errorf("enrollment asks for %q; %s", subject.Operation.TokenHash, diff)
	}
	// The agent that read the first token before it was void.
	refused[*fleet.VoidTokenError](t, s.Enroll(t.Context(), enrolled(1), first.Claim.TokenHash))
	if runners := got[snapshot.State](t)(s.Load(t.Context())).Runners; len(runners) != 0 {
		t.Errorf("a void token was spent: %+v", runners)
	}
	must(t, s.Enroll(t.Context(), enrolled(1), renewed.TokenHash))
	refused[*ClaimRefusedError](t, s.RenewJoinToken(t.Context(), first.Claim, AuditRecord{ID: "third", At: now}))
}
