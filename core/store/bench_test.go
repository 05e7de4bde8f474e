package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// realistic fills the instance, operation and runner number n as a running
// installation has them.
func realistic(n int) (fleet.CapacityInstance, fleet.Operation, fleet.Runner) {
	instance, operation := provisioned(n)
	runner := enrolled(n)
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	instance.ProviderInstance, instance.Runner, instance.State = "i-0123456789abcdef0", runner.ID, fleet.Healthy
	instance.Class, instance.Image, instance.InstanceDigest = fleet.CapacityClassID(
		digest,
	), fleet.RunnerImageID(
		digest,
	), digest
	instance.Seen, instance.SeenAt, instance.EverRunning = fleet.ResourceRunning, now, true
	instance.Zone, instance.MachineType = "eu-central-1a", "m7i.2xlarge"
	instance.Admission.State = fleet.AdmissionVerified
	for _, check := range []string{"identity", "provider", "trust", "capabilities", "skew", "version", "health",
		"isolation"} {
		instance.Admission.Checks = append(
			instance.Admission.Checks,
			fleet.AdmissionCheck{
				Name:     check,
				Result:   fleet.Passed,
				Evidence: reason.Of(reason.JobsIsolated{Message: "what was seen for " + check}),
			},
		)
	}
	operation.State, operation.Attempts, operation.CallOver = fleet.OperationSucceeded, 1, now
	operation.Nonce, operation.TokenHash, operation.TokenExpires = make([]byte, 16), digest, now.Add(time.Hour)
	operation.Request = fmt.Appendf(
		nil,
		`{"fleet":"fleet.linux","name":"linux-%d","instance":%q,"tags":{"a":"b"}}`,
		n,
		strings.Repeat("x", 800),
	)
	runner.Address, runner.AgentVersion, runner.Beats, runner.LastBeat = "10.1.2.3", "1.2.3", 99, now
	runner.Platform = fleet.Platform{OS: "linux", Arch: "x86_64"}
	runner.Report = fleet.AgentReport{
		Phase:     fleet.PhaseIdle,
		JobsRun:   7,
		LastExit:  "exit 0",
		Isolation: "user",
		Load1:     0.25,
		DiskFree:  1 << 36,
		Probes: map[string]fleet.Probe{
			"docker": {OK: true, Evidence: "docker 28.1 answers"},
			"kvm":    {OK: true, Evidence: "/dev/kvm opens"},
		},
	}
	return instance, operation, runner
}

// filled is a store with n live instances, their operations and runners.
func filled(b testing.TB, s *Store, n int) *Store {
	applied(b, s)
	var c Change
	var runners []fleet.Runner
	for i := range n {
		instance, operation, runner := realistic(i)
		c.Instances, c.Operations, runners = append(
			c.Instances,
			instance,
		), append(
			c.Operations,
			operation,
		), append(
			runners,
			runner,
		)
	}
	must(b, s.Commit(b.Context(), c))
	for _, runner := range runners {
		must(b, s.Enroll(b.Context(), runner, hashOf(c, runner.Operation)))
	}
	return s
}

// onBoth runs the benchmark on SQLite and on PostgreSQL. The latter syncs
// nothing in tests: compare its numbers of reads, not of writes.
func onBoth(b *testing.B, run func(b *testing.B, s *Store)) {
	b.Run("sqlite", func(b *testing.B) { run(b, open(b, sqlitePath(b))) })
	b.Run("postgres", func(b *testing.B) { run(b, open(b, postgres.Database(b))) })
}

// BenchmarkCommit commits transitions (instance and operation): one at a time, then batches.
func BenchmarkCommit(b *testing.B) {
	onBoth(b, func(b *testing.B, s *Store) {
		filled(b, s, 1000)
		for _, size := range []int{1, 100, 1000} {
			b.Run(fmt.Sprint(size), func(b *testing.B) {
				var c Change
				for i := range size {
					instance, operation, _ := realistic(i)
					c.Instances, c.Operations = append(c.Instances, instance), append(c.Operations, operation)
				}
				for b.Loop() {
					must(b, s.Commit(b.Context(), c))
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*size), "µs/transition")
			})
		}
	})
}

// BenchmarkRecordRunners records the heartbeats of 1,000 agents at once.
func BenchmarkRecordRunners(b *testing.B) {
	onBoth(b, func(b *testing.B, s *Store) {
		filled(b, s, 1000)
		var runners []fleet.Runner
		for i := range 1000 {
			_, _, runner := realistic(i)
			runners = append(runners, runner)
		}
		for b.Loop() {
			must(b, s.RecordRunners(b.Context(), runners))
		}
	})
}

// BenchmarkLoad loads 10,000 live instances with operations and runners: all of
// them as after a start, then with 100 instances changed since the last Load.
func BenchmarkLoad(b *testing.B) {
	onBoth(b, func(b *testing.B, s *Store) {
		filled(b, s, 10_000)
		load := func(b *testing.B) {
			state, err := s.Load(b.Context())
			if err != nil || len(state.Instances) != 10_000 || len(state.Operations) != 10_000 || len(state.Runners) != 10_000 {
				b.Fatal(len(state.Instances), err)
			}
		}
		b.Run("first", func(b *testing.B) {
			for b.Loop() {
				s.loaded.Store(nil)
				load(b)
			}
		})
		b.Run("changed100", func(b *testing.B) {
			var c Change
			for i := range 100 {
				instance, _, _ := realistic(i * 100)
				c.Instances = append(c.Instances, instance)
			}
			for b.Loop() {
				b.StopTimer()
				must(b, s.Commit(b.Context(), c))
				b.StartTimer()
				load(b)
			}
		})
		b.Run("unchanged", func(b *testing.B) {
			for b.Loop() {
				load(b)
			}
		})
	})
}

// BenchmarkRunnerSubject is what every call of an agent may ask.
func BenchmarkRunnerSubject(b *testing.B) {
	onBoth(b, func(b *testing.B, s *Store) {
		filled(b, s, 1000)
		for b.Loop() {
			if _, found, err := s.RunnerSubject(b.Context(), enrolled(500).ID); err != nil || !found {
				b.Fatal(found, err)
			}
		}
	})
}
