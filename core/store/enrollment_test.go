package store

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/google/go-cmp/cmp"
)

func tokenIsSpentOnce(t *testing.T, location string) {
	s := applied(t, open(t, location))
	must(t, s.Commit(t.Context(), change(1, 1)))
	const contenders = 8
	outcomes := make([]error, contenders)
	var wait sync.WaitGroup
	for n := range contenders {
		wait.Go(func() {
			runner := enrolled(1)
			runner.ID = fleet.RunnerID(id("contender", n))
			outcomes[n] = s.Enroll(t.Context(), runner, "")
		})
	}
	wait.Wait()
	state, err := s.Load(t.Context())
	must(t, err)
	if len(state.Runners) != 1 {
		t.Fatalf("%d runners were recorded, want 1", len(state.Runners))
	}
	won := 0
	for n, err := range outcomes {
		if err == nil {
			won++
			if state.Runners[0].ID != fleet.RunnerID(id("contender", n)) {
				t.Errorf("contender %d was told that it enrolled, but %s did", n, state.Runners[0].ID)
			}
			continue
		}
		if existing := refused[*fleet.AlreadyEnrolledError](t, err).Existing; !cmp.Equal(existing, state.Runners[0]) {
			t.Errorf("contender %d was shown %s, but %s enrolled", n, existing.ID, state.Runners[0].ID)
		}
	}
	if won != 1 {
		t.Errorf("%d contenders were told that they enrolled, want 1", won)
	}
}

func identityIsTakenOnce(t *testing.T, location string) {
	s := applied(t, open(t, location))
	const contenders = 8
	c := change(1, contenders+3)
	elsewhere := contenders + 3
	c.Instances[elsewhere-1].Provider = "local.there"
	must(t, s.Commit(t.Context(), c))
	as := func(n int) fleet.Runner {
		runner := enrolled(n)
		runner.Identity = fleet.VerifiedIdentity{Kind: "aws", Resource: "i-1", Verified: now}
		return runner
	}
	outcomes := make([]error, contenders)
	var wait sync.WaitGroup
	for n := range contenders {
		wait.Go(func() { outcomes[n] = s.Enroll(t.Context(), as(n+1), "") })
	}
	wait.Wait()
	winner := 0
	for n, err := range outcomes {
		if err == nil {
			winner += n + 1
			continue
		}
		refused[*fleet.IdentityTakenError](t, err)
	}
	state, err := s.Load(t.Context())
	must(t, err)
	if len(state.Runners) != 1 || state.Runners[0].Instance != enrolled(winner).Instance ||
		state.Runners[0].Identity != as(winner).Identity {
		t.Fatalf("%d runners were recorded, the first as %+v", len(state.Runners), state.Runners)
	}
	// Runners without evidence, or at another provider, aren't affected.
	must(t, s.Enroll(t.Context(), enrolled(contenders+1), ""))
	must(t, s.Enroll(t.Context(), as(elsewhere), ""))
	// A heartbeat leaves the resource taken.
	beat := state.Runners[0]
	beat.Beats = 7
	must(t, s.RecordRunners(t.Context(), []fleet.Runner{beat}))
	late := contenders + 2
	if other := refused[*fleet.IdentityTakenError](t, s.Enroll(t.Context(), as(late), "")).Other; other != beat.Instance {
		t.Errorf("it is told that %s has it", other)
	}
	over := c.Instances[winner-1]
	over.State = fleet.Terminated
	must(t, s.Commit(t.Context(), Change{Instances: []fleet.CapacityInstance{over}}))
	must(t, s.Enroll(t.Context(), as(late), ""))
}

func findsSubject(t *testing.T, location string) {
	s := applied(t, open(t, location))
	must(t, s.Commit(t.Context(), change(1, 2)))
	instance, operation := provisioned(1)
	if _, found, err := s.EnrollmentSubject(t.Context(), "unknown"); err != nil || found {
		t.Errorf("an unknown operation: found %v, error %v", found, err)
	}
	if _, found, err := s.RunnerSubject(t.Context(), enrolled(1).ID); err != nil || found {
		t.Errorf("a runner before enrollment: found %v, error %v", found, err)
	}
	want := fleet.EnrollmentSubject{Operation: operation, Instance: instance, Fleet: managed(1)}
	want.Fleet.Serial = 1
	got, found, err := s.EnrollmentSubject(t.Context(), operation.ID)
	must(t, err)
	if diff := cmp.Diff(want, got); !found || diff != "" {
		t.Errorf("before enrollment: found %v\n%s", found, diff)
	}
	must(t, s.Enroll(t.Context(), enrolled(1), ""))
	runner := enrolled(1)
	want.Runner = &runner
	for by, find := range map[string]func() (fleet.EnrollmentSubject, bool, error){
		"operation": func() (fleet.EnrollmentSubject, bool, error) { return s.EnrollmentSubject(t.Context(), operation.ID) },
		"runner":    func() (fleet.EnrollmentSubject, bool, error) { return s.RunnerSubject(t.Context(), runner.ID) },
	} {
		got, found, err := find()
		must(t, err)
		if diff := cmp.Diff(want, got); !found || diff != "" {
			t.Errorf("by %s: found %v\n%s", by, found, diff)
		}
	}
}

func findsBatch(t *testing.T, location string) {
	s := applied(t, open(t, location))
	c := change(1, 4)
	for n := range 3 { // the fourth goes out by itself
		c.Operations[n].Batch = fleet.BatchPlace{Key: "batch-1", Number: 2 - n, Size: 3}
		c.Operations[n].TokenHash = "the batch's"
	}
	must(t, s.Commit(t.Context(), c))
	must(t, s.Enroll(t.Context(), enrolled(1), "the batch's"))
	refused[*fleet.VoidTokenError](t, s.Enroll(t.Context(), enrolled(2), "another"))
	got, err := s.TokenSubjects(t.Context(), "batch-1")
	must(t, err)
	if len(got) != 3 {
		t.Fatalf("%d members were found", len(got))
	}
	for n, member := range got {
		want, found, err := s.EnrollmentSubject(t.Context(), c.Operations[2-n].ID)
		must(t, err)
		if diff := cmp.Diff(want, member); !found || diff != "" || member.Operation.Batch.Number != n {
			t.Errorf("member %d is found as %+v\n%s", n, member.Operation.Batch, diff)
		}
	}
	if got[2].Runner == nil || got[1].Runner != nil {
		t.Error("who enrolled isn't told apart")
	}
	if got, err := s.TokenSubjects(
		t.Context(),
		c.Operations[0].ID,
	); err != nil || len(got) != 1 ||
		got[0].Operation.Batch.Key != "batch-1" {
		t.Errorf("by a member's own id: %d operations, %v", len(got), err)
	}
	for _, none := range []fleet.OperationID{"", "batch-2"} {
		if got, err := s.TokenSubjects(t.Context(), none); err != nil || len(got) != 0 {
			t.Errorf("the batch %q: %d members, %v", none, len(got), err)
		}
	}
}

func recordsRunners(t *testing.T, location string) {
	s := applied(t, open(t, location))
	must(t, s.Commit(t.Context(), change(1, 200)))
	var beats []fleet.Runner
	for n := range 200 {
		runner := enrolled(n + 1)
		must(t, s.Enroll(t.Context(), runner, ""))
		runner.Beats = int64(n + 1)
		beats = append(beats, runner)
	}
	unknown, twice := enrolled(999), beats[7]
	twice.Beats = 1000
	must(t, s.RecordRunners(t.Context(), append([]fleet.Runner{unknown}, append(beats, twice)...)))
	state, err := s.Load(t.Context())
	must(t, err)
	beats[7] = twice
	if diff := cmp.Diff(beats, state.Runners); diff != "" {
		t.Error(diff)
	}
}

func revocationOutlivesHeartbeats(t *testing.T, location string) {
	s := applied(t, open(t, location))
	must(t, s.Commit(t.Context(), change(1, 2)))
	runner, other := enrolled(1), enrolled(2)
	must(t, s.Enroll(t.Context(), runner, ""))
	must(t, s.Enroll(t.Context(), other, ""))
	_, err := s.Load(t.Context()) // so that the next one reads only what changed
	must(t, err)

	at := now.Add(time.Hour)
	must(t, s.RevokeRunner(t.Context(), runner.ID, at))
	must(t, s.RevokeRunner(t.Context(), runner.ID, at.Add(time.Hour)))
	// The facts that a heartbeat brings were read before the revocation.
	runner.Beats = 7
	must(t, s.RecordRunners(t.Context(), []fleet.Runner{runner, other}))

	want := runner
	want.Revoked = at
	for name, read := range map[string]*Store{"the same store": s, "another process": open(t, location)} {
		state, err := read.Load(t.Context())
		must(t, err)
		if diff := cmp.Diff([]fleet.Runner{want, other}, state.Runners); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	subject, _, err := s.RunnerSubject(t.Context(), runner.ID)
	must(t, err)
	if diff := cmp.Diff(&want, subject.Runner); diff != "" {
		t.Error(diff)
	}
	again := enrolled(1)
	again.ID = "another"
	if existing := refused[*fleet.AlreadyEnrolledError](
		t,
		s.Enroll(t.Context(), again, ""),
	).Existing; !existing.Revoked.Equal(
		at,
	) {
		t.Errorf("who enrolls again is shown %+v", existing)
	}
	if unknown := refused[*UnknownRunnerError](
		t,
		s.RevokeRunner(t.Context(), "unknown", at),
	); unknown.Runner != "unknown" {
		t.Errorf("the refusal names %s", unknown.Runner)
	}
}

// burstSharesOneTransaction: while the writer is busy hosts come, one of them with a
// token that was replaced and one of an unknown operation. All others are
// enrolled, in one transaction or, since one of them fails, in one each.
func burstSharesOneTransaction(t *testing.T, location string) {
	s := applied(t, open(t, location))
	must(t, s.Commit(t.Context(), change(1, 20)))
	for name, broken := range map[string]bool{"all are known": false, "one is unknown": true} {
		first, last := 1, 10
		if broken {
			first, last = 11, 20
		}
		busy, err := s.writer.BeginTx(t.Context(), nil)
		must(t, err)
		before := revisionOf(t, s)
		outcomes := make([]error, last-first+1)
		var wait sync.WaitGroup
		for n := range outcomes {
			runner, hash := enrolled(first+n), ""
			if n == 3 {
				hash = "of an older token"
			}
			if broken && n == 7 {
				runner.Operation = "unknown"
			}
			wait.Go(func() { outcomes[n] = s.Enroll(t.Context(), runner, hash) })
		}
		for waiting, deadline := 0, time.Now().Add(time.Minute); waiting < len(outcomes) &&
			time.Now().Before(deadline); runtime.Gosched() {
			s.enrolling.mu.Lock()
			waiting = len(s.enrolling.waiting)
			s.enrolling.mu.Unlock()
		}
		must(t, busy.Rollback())
		wait.Wait()
		for n, err := range outcomes {
			switch {
			case n == 3:
				refused[*fleet.VoidTokenError](t, err)
			case broken && n == 7:
				if err == nil {
					t.Errorf("%s: a runner of no operation was enrolled", name)
				}
			case err != nil:
				t.Errorf("%s: runner %d: %v", name, n, err)
			}
		}
		if spent := revisionOf(t, s) - before; !broken && spent != 1 {
			t.Errorf("%s: the burst took %d transactions, want 1", name, spent)
		}
	}
	state, err := s.Load(t.Context())
	must(t, err)
	if len(state.Runners) != 17 {
		t.Errorf("%d runners are recorded, want 17", len(state.Runners))
	}
}

// revisionOf is the number of the last transaction.
func revisionOf(t *testing.T, s *Store) (revision int64) {
	t.Helper()
	must(t, s.reader.QueryRowContext(t.Context(), `SELECT revision FROM writer`).Scan(&revision))
	return revision
}
