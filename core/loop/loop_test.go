package loop

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

func TestAFleetComesUpAndNothingMoreIsCalledOrWritten(t *testing.T) {
	w := newWorld(t, demoFleet(3, 5))
	w.settle()
	if len(w.cloud) != 3 || len(w.calls) != 3 {
		t.Fatalf("after settling: %s", w.describe())
	}
	commits := w.store.commits
	for range 20 {
		w.wait()
		var events []Event
		for _, e := range w.effects {
			events = append(events, w.run(e))
		}
		w.effects = nil
		for id := range w.store.runners {
			w.beat(id, func(*fleet.Runner) {})
		}
		w.step(events...)
	}
	if len(w.calls) != 3 {
		t.Errorf("a settled fleet was called again: %v", w.calls)
	}
	if w.store.commits != commits {
		t.Errorf("%d idle steps wrote something", w.store.commits-commits)
	}
}

func TestAManagerThatStartsAgainAdoptsWhatRuns(t *testing.T) {
	w := newWorld(t, demoFleet(3, 5))
	w.settle()
	for range 5 {
		w.now = w.now.Add(3 * time.Hour) // away for long: no one is called dead for that
		w.restart()
		w.settle()
	}
	if len(w.calls) != 3 || len(w.live()) != 3 {
		t.Errorf("after five restarts: %s", w.describe())
	}
}

func TestAgentBeforeTheAnswerIsAdmittedAfterInspection(t *testing.T) {
	w, p := begun(t, nil)
	w.make(p)
	w.enroll(w.only())
	w.step()
	if i := w.only(); i.State != fleet.Provisioning || i.Runner == "" {
		t.Fatalf("before the answer: %s", w.describe())
	}
	w.step(
		ProvisionAnswered{
			Operation: p.Operation.ID,
			Outcome:   fleet.ProvisionCreated,
			Resource:  w.cloud[p.Operation.ID],
			CallOver:  true,
		},
	)
	if i := w.only(); i.State != fleet.Enrolling || i.Admission.State != fleet.AdmissionPending {
		t.Fatalf("after the answer, before an inspection: %s %+v", i.State, i.Admission)
	}
	w.inspect()
	if i := w.only(); i.State != fleet.Healthy || i.Admission.State != fleet.AdmissionVerified {
		t.Errorf("after the inspection: %s %+v", i.State, i.Admission)
	}
}

func identifying(f *fleet.ManagedFleet) { f.Admission.Identity = fleet.IdentityRequired }

func isolating(f *fleet.ManagedFleet) { f.Admission.JobIsolation = fleet.JobIsolationRequired }

func TestAdmissionJudgesEvidenceAndNotTheAgentsWord(t *testing.T) {
	tests := []struct {
		name   string
		change func(*fleet.Runner)
		fleet  func(*fleet.ManagedFleet)
		// resource changes what the provider shows.
		resource func(*fleet.Resource)
		want     fleet.RunnerAdmissionState
		why      reason.Detail // a check that ended it
	}{
		{name: "everything in order", want: fleet.AdmissionVerified},
		{
			name:   "another platform",
			change: func(r *fleet.Runner) { r.Platform.Arch = "arm64" },
			want:   fleet.AdmissionRejected,
			why:    reason.PlatformDiffers{Has: "linux/arm64", Class: "c", Required: "linux/x86_64"},
		},
		{name: "a capability that the host can't show", change: func(r *fleet.Runner) {
			r.Report.Probes = map[string]fleet.Probe{"git": {Evidence: "not found"}}
		}, want: fleet.AdmissionRejected, why: reason.CapabilityMissing{Capability: "git", Message: "not found"}},
		{
			name:   "a capability not shown yet",
			change: func(r *fleet.Runner) { r.Report.Probes = nil },
			want:   fleet.AdmissionPending,
		},
		{
			name:   "another minor version of the agent",
			change: func(r *fleet.Runner) { r.AgentVersion = "0.2.0" },
			want:   fleet.AdmissionRejected,
			why:    reason.AgentVersionDiffers{Has: "0.2.0", Required: "0.1.0"},
		},
		{
			name:   "another patch of the agent",
			change: func(r *fleet.Runner) { r.AgentVersion = "0.1.7" },
			want:   fleet.AdmissionVerified,
		},
		{
			name:   "a clock that is off",
			change: func(r *fleet.Runner) { r.Skew = -6 * time.Minute },
			want:   fleet.AdmissionPending,
		},
		{name: "no heartbeat", change: func(r *fleet.Runner) { r.Beats = 0 }, want: fleet.AdmissionPending},
		{
			name:   "an unhealthy host",
			change: func(r *fleet.Runner) { r.Report.Unhealthy = "disk full" },
			want:   fleet.AdmissionPending,
		},
		{
			name:   "the token used with two keys",
			change: func(r *fleet.Runner) { r.Tampered = true },
			want:   fleet.AdmissionQuarantined,
			why:    reason.TokenUsedTwice{},
		},
		{
			name:   "a token of another operation",
			change: func(r *fleet.Runner) { r.Operation = "other" },
			want:   fleet.AdmissionQuarantined,
			why:    reason.TokenOfOtherInstance{},
		},
		{
			name:   "a revoked certificate",
			change: func(r *fleet.Runner) { r.Revoked = time.Unix(1, 0) },
			want:   fleet.AdmissionRejected,
			why:    reason.CertificateRevoked{},
		},
		{
			name:   "no evidence where it is required",
			fleet:  identifying,
			change: func(r *fleet.Runner) { r.Identity = fleet.VerifiedIdentity{} },
			want:   fleet.AdmissionRejected,
			why:    reason.IdentityMissing{},
		},
		{name: "evidence of another resource than the one that is shown", fleet: identifying, change: func(r *fleet.Runner) {
			r.Identity = fleet.VerifiedIdentity{Kind: "aws", Resource: "i-of-another"}
		}, want: fleet.AdmissionQuarantined, why: reason.IdentityDiffers{}},
		{
			name:  "no address shown yet, where it must match",
			fleet: func(f *fleet.ManagedFleet) { f.Admission.MatchAddress = true },
			want:  fleet.AdmissionPending,
		},
		{
			name:     "another address, where it must match",
			fleet:    func(f *fleet.ManagedFleet) { f.Admission.MatchAddress = true },
			resource: func(r *fleet.Resource) { r.Addresses = []string{"10.0.0.9"} },
			want:     fleet.AdmissionQuarantined,
			why:      reason.AddressDiffers{},
		},
		{
			name:     "the same address in another spelling, where it must match",
			fleet:    func(f *fleet.ManagedFleet) { f.Admission.MatchAddress = true },
			resource: func(r *fleet.Resource) { r.Addresses = []string{"10.0.0.9", "::ffff:127.0.0.1"} },
			want:     fleet.AdmissionVerified,
		},
		{
			name:     "another image than was asked for",
			fleet:    func(f *fleet.ManagedFleet) { f.Image.Ref = "golden" },
			resource: func(r *fleet.Resource) { r.Image = "other" },
			want:     fleet.AdmissionQuarantined,
			why:      reason.ImageDiffers{},
		},
		{name: "no isolation where it is required", fleet: isolating, change: func(r *fleet.Runner) {
			r.Report.IsolationEvidence = "not isolated: as the user 60600 a job can read /etc/forgeyard/bootstrap.json"
		}, want: fleet.AdmissionRejected,
			why: reason.JobsNotIsolated{
				Message: "not isolated: as the user 60600 a job can read /etc/forgeyard/bootstrap.json"}},
		{
			name:   "isolation that is still looked at",
			fleet:  isolating,
			change: func(r *fleet.Runner) { r.Report.Isolation = "pending" },
			want:   fleet.AdmissionPending,
		},
		{
			name:   "isolation that no one asks for is still looked at",
			change: func(r *fleet.Runner) { r.Report.Isolation = "pending" },
			want:   fleet.AdmissionVerified,
		},
		{name: "isolation where it is required", fleet: isolating, change: func(r *fleet.Runner) {
			r.Report.Isolation, r.Report.IsolationEvidence = "user", "isolated: jobs run as the user 60600"
		}, want: fleet.AdmissionVerified},
		{
			name:  "a gpu that only the host speaks of",
			fleet: func(f *fleet.ManagedFleet) { f.Class.Resources.GPU = 1 },
			change: func(r *fleet.Runner) {
				r.Report.Probes["gpu"] = fleet.Probe{OK: true, Evidence: "trust me"}
			},
			want: fleet.AdmissionRejected,
			why:  reason.AttestationMissing{Provider: "local.here", Capability: "gpu"},
		},
		{
			name:     "a gpu that the provider vouches for",
			fleet:    func(f *fleet.ManagedFleet) { f.Class.Capabilities = append(f.Class.Capabilities, "gpu") },
			resource: func(r *fleet.Resource) { r.Attested = []string{"kvm", "gpu"} },
			want:     fleet.AdmissionVerified,
		},
		{
			name:     "a signing host that no one vouches for",
			fleet:    func(f *fleet.ManagedFleet) { f.Class.Signing = true },
			resource: func(r *fleet.Resource) { r.Attested = []string{"gpu"} },
			want:     fleet.AdmissionRejected,
			why:      reason.AttestationMissing{Provider: "local.here", Capability: "signing"},
		},
		{
			name:     "confidential compute before an inspection has shown the host",
			fleet:    func(f *fleet.ManagedFleet) { f.Class.Confidential = true },
			resource: func(r *fleet.Resource) { r.State = fleet.ResourcePending },
			want:     fleet.AdmissionPending,
		},
		{
			name:   "no word on isolation where it is required",
			fleet:  isolating,
			change: func(r *fleet.Runner) { r.Report.Isolation = "" },
			want:   fleet.AdmissionRejected,
			why:    reason.JobsNotIsolated{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := demoFleet(1, 2)
			if tt.fleet != nil {
				tt.fleet(&f)
			}
			w := newWorld(t, f)
			w.step(w.run(take[Provision](w)))
			id := w.enroll(w.only())
			if tt.change != nil {
				r := w.store.runners[id]
				tt.change(&r)
				w.store.runners[id] = r
			}
			first := w.only().ID
			if tt.resource != nil {
				res := w.cloud[w.only().Key]
				tt.resource(&res)
				w.cloud[res.Key] = res
			}
			w.inspect()
			i := w.store.instances[first]
			if i.Admission.State != tt.want || !failedFor(i.Reason, tt.why) {
				t.Errorf("admission %s because %q, want %s because of %q", i.Admission.State, i.Reason, tt.want, tt.why)
			}
			if (i.State == fleet.Healthy) != (tt.want == fleet.AdmissionVerified) {
				t.Errorf("an agent whose checks say %s is %s", tt.want, i.State)
			}
		})
	}
}

func TestAdmissionShowsByWhichEvidenceAHostEnrolled(t *testing.T) {
	f := demoFleet(1, 2)
	identifying(&f)
	w := newWorld(t, f)
	w.step(w.run(take[Provision](w)))
	id := w.enroll(w.only())
	r := w.store.runners[id]
	r.Identity = fleet.VerifiedIdentity{
		Kind:     "aws",
		Resource: w.only().ProviderInstance,
		Account:  "1234",
		Region:   "here",
		Verified: w.now,
	}
	w.store.runners[id] = r
	w.inspect()
	i := w.only()
	want := reason.IdentityProven{
		Resource: string(r.Identity.Resource),
		Account:  "1234",
		Region:   "here",
		Kind:     "aws",
		Verified: reason.At(r.Identity.Verified),
	}
	if i.State != fleet.Healthy || !matches(i.Admission.Checks[0].Evidence, want) {
		t.Errorf("%s: %+v", i.State, i.Admission)
	}
}

func TestADrainWaitsForTheJobHoweverLongItTakes(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	i := w.only()
	w.beat(i.Runner, func(r *fleet.Runner) { r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseRunning, false })
	w.remove()
	w.calls = nil
	for range 40 {
		w.now = w.now.Add(10 * time.Minute)
		w.beat(i.Runner, func(*fleet.Runner) {})
		w.inspectIfDue()
		w.step()
	}
	if got := w.only(); got.State != fleet.Draining || len(w.calls) != 0 {
		t.Fatalf("hours after the drain began, with a job running: %s", w.describe())
	}
	w.beat(i.Runner, func(r *fleet.Runner) {
		w.hear(r, i)
		r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseStopped, false
	})
	w.step()
	if got := w.only(); got.State != fleet.Draining {
		t.Fatalf("a process of the job is left, and the runner is %s", got.State)
	}
	w.beat(i.Runner, func(r *fleet.Runner) { r.Report.GroupEmpty = true })
	w.settle()
	if len(w.live()) != 0 || len(w.cloud) != 0 || len(w.store.fleets) != 0 {
		t.Errorf("after the job: %s, fleets %d", w.describe(), len(w.store.fleets))
	}
}

func TestAReportFromBeforeTheDrainProvesNothing(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	i := w.only()
	r := w.store.runners[i.Runner]
	r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseStopped, true
	w.store.runners[i.Runner] = r // no new beat
	w.remove()
	w.step()
	w.step()
	if got := w.only(); got.State != fleet.Draining {
		t.Errorf("an old report ended the drain: %s", got.State)
	}
}

func TestAResourceThatStopsAfterSignsOfLifeIsRemovedAndReplaced(t *testing.T) {
	w := newWorld(t, demoFleet(1, 2))
	w.settle()
	i := w.only()
	res := w.cloud[i.Key]
	res.State = fleet.ResourceStopped
	w.cloud[i.Key] = res
	w.inspect()
	w.settle()
	if got := w.only(); got.ID == i.ID {
		t.Errorf("the stopped one still stands: %s", w.describe())
	}
	if _, left := w.cloud[i.Key]; left {
		t.Error("the stopped resource is left behind")
	}
}

func TestAHostThatNeverEnrollsIsRemovedAtItsDeadline(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	w.step(w.run(take[Provision](w)))
	first := w.only()
	w.inspect()
	w.pass(fleet.DefaultTimeouts().Boot, nil)
	if i := w.store.instances[first.ID]; i.State != fleet.Terminating && i.State != fleet.Terminated ||
		!deadlinePassed(i.Reason, 5*time.Minute) {
		t.Fatalf("after the boot deadline: %s %s", i.State, i.Reason)
	}
	w.settle()
	if got := w.only(); got.ID == first.ID || got.State != fleet.Healthy {
		t.Errorf("not replaced: %s", w.describe())
	}
}

func TestMaxCountsWhatIsNotProvenGone(t *testing.T) {
	w := newWorld(t, demoFleet(2, 2))
	w.settle()
	w.store.fleets["f1"] = func() fleet.ManagedFleet {
		f := w.store.fleets["f1"]
		f.Immutable, f.Serial = []byte(`{"nice":5}`), 2
		return f
	}()
	for range 400 {
		var events []Event
		for _, e := range w.effects {
			events = append(events, w.run(e))
		}
		w.effects = nil
		for _, i := range w.store.instances {
			w.behave(i)
		}
		if w.step(events...); len(w.live()) > 2 {
			t.Fatalf("footprint above max during a replacement: %s", w.describe())
		}
		w.wait()
	}
	for _, i := range w.live() {
		if i.InstanceDigest != w.store.fleets["f1"].InstanceDigest() || i.State != fleet.Healthy {
			t.Errorf("not replaced: %s", w.describe())
		}
	}
}

func TestAStepThatCanNotCommitDoesNothingAndLosesNothing(t *testing.T) {
	w, p := begun(t, nil)
	w.make(p)
	w.store.fail = errFenced
	w.now = w.now.Add(time.Second)
	res, err := w.loop.Step(
		t.Context(),
		w.now,
		[]Event{
			ProvisionAnswered{
				Operation: p.Operation.ID,
				Outcome:   fleet.ProvisionCreated,
				Resource:  w.cloud[p.Operation.ID],
				CallOver:  true,
			},
		},
	)
	if !errors.Is(err, errFenced) || len(res.Effects) != 0 {
		t.Fatalf("step gave %v, %v", res.Effects, err)
	}
	w.store.fail = nil
	w.step()
	if op := w.operation(p.Operation.ID); op.State != fleet.OperationSucceeded {
		t.Errorf("the answer was lost with the failed commit: %s", op.State)
	}
}

func TestAHostWithoutAnAgentForItsPlatformIsNotMade(t *testing.T) {
	w := newWorld(t)
	w.loop.enrollment = enrollment{err: errors.New("no agent for linux-amd64 in agents/")}
	w.store.fleets["f1"] = demoFleet(1, 1)
	w.step()
	w.step()
	if len(w.calls) != 0 || len(w.store.decisions) != 0 || !w.last.Holds()["f1"].NeedsPerson ||
		!reason.Is[reason.BootstrapUnavailable](w.last.Holds()["f1"].Reason) {
		t.Errorf("calls %v, decisions %v, holds %+v", w.calls, w.store.decisions, w.last.Holds())
	}
}

func TestAWorkingHostIsNotDrainedForOneThatCannotBeMade(t *testing.T) {
	w := newWorld(t, demoFleet(1, 1))
	w.settle()
	w.loop.enrollment = enrollment{err: errors.New("no agent for linux-arm64 in agents/")}
	f := w.store.fleets["f1"]
	f.Class.Platform.Arch, f.Serial = "arm64", 2
	w.store.fleets["f1"] = f
	w.pass(time.Hour, w.all)
	if i := w.only(); i.State != fleet.Healthy {
		t.Errorf("%s", w.describe())
	}
}

// inspectIfDue answers an inspection that waits.
func (w *world) inspectIfDue() {
	if has[Inspect](w) {
		take[Inspect](w)
		w.now = w.now.Add(time.Microsecond)
		w.step(w.look())
	}
}

func BenchmarkStep(b *testing.B) {
	var fleets []fleet.ManagedFleet
	for n := range 200 {
		f := demoFleet(50, 60)
		f.ID, f.Address = fleet.RunnerFleetID(fmt.Sprintf("f%03d", n)), fleet.FleetAddress(fmt.Sprintf("fleet.f%03d", n))
		fleets = append(fleets, f)
	}
	w := newWorld(b, fleets...)
	w.loop.settings.CallLimit = 1 << 20
	w.settle()
	if len(w.live()) != 10_000 {
		b.Fatalf("%d instances", len(w.live()))
	}
	b.ReportAllocs()
	for b.Loop() {
		w.step()
	}
}
