package reason

import (
	"testing"
	"time"
)

func TestTextsSayWhatTheirParametersSay(t *testing.T) {
	alice := Attribution{By: "alice", Until: exampleInstant}
	limit := CostLimit{Attribute: "max_daily", Amount: "13 USD", Override: alice}
	for _, tt := range []struct {
		given Detail
		want  string
	}{
		{ScaleUp{To: 4, Because: Of(JobsQueued{Jobs: 12}), Limit: Of(LimitedByMax{Max: 4})},
			"scale up 0 → 4: 12 jobs queued, existing runners have room; limited by max = 4"},
		{ScaleUp{From: 2, To: 2, Because: Of(NoJobsQueued{}), Surge: 1, Base: 1},
			"scale up 2 → 2: no jobs queued; 1 more for the rollout; 1 of them from the previous definition, known good"},
		{ScaleDown{From: 4, Idle: Duration(3 * time.Second), Because: Of(NoJobsQueued{})},
			"scale down 4 → 0: idle for 3s, no jobs queued"},
		{NoJobsQueued{Running: 1}, "no jobs queued, 1 job running"},
		{JobsQueued{Jobs: 1, Runners: 1}, "1 job queued, 1 more runner needed"},
		{LimitedByMax{Missing: 1, Max: 4, Unproven: 1},
			"1 instance missing: limited by max = 4, of which 1 instance is not proven gone"},
		{LimitedByMax{Max: 4, Override: alice}, "limited by max = 4 (override by alice until 2026-11-30 14:02 UTC)"},
		{FleetFrozen{Provider: "cloud.a"}, "provider cloud.a is frozen"},
		{FleetQuarantined{Missing: 3, Image: "sha256:1"}, "3 instances missing: the fleet's image is quarantined"},
		{HeldBack{Outdated: 2, Because: Plain("3 failures in a row.")},
			"2 instances outdated, but none can start: 3 failures in a row"},
		{FleetProtected{Missing: 1}, "1 instance missing: a protected fleet keeps the size in its file"},
		{EntitlementLimit{0, ListOf("a", "b"), "mac", 4, 4},
			`the entitlements "a", "b" allow 4 instances of class "mac" together, 4 in use`},
		{SpreadOverProviders{Class: "linux", Fewer: 1, Providers: exampleShares},
			`1 fewer instance here to spread class "linux" over providers: cloud.a has 1, local.b has 3`},
		{MaxHourlyReached{Limit: exampleLimit, Price: "2 USD"},
			"limited by max_hourly = 1 USD: one instance costs 2 USD an hour"},
		{MaxHourlyReached{Limit: exampleLimit, More: 2, Instances: 5, Hourly: "0.9 USD", Price: "0.2 USD"},
			"limited by max_hourly = 1 USD: with 2 more, 5 instances cost 0.9 USD an hour, and another one costs 0.2 USD"},
		{MaxDailyReached{Limit: limit, Today: "13 USD", FitsAt: exampleInstant, NextDay: true},
			"limited by max_daily = 13 USD (cost override by alice until 2026-11-30 14:02 UTC): today (UTC) has cost 13 USD, " +
				"and no other fits before 14:03 UTC"},
		{OffersUnknown{Of(ProviderError{"connection refused."})}, "the provider's offers are not known: connection refused"},
		{OffersExhausted{Offers: ListOf(OfferRefused{"any stable host", exampleExhausted}), Trying: true},
			"no offer has capacity: any stable host (no capacity); one request tries now"},
		{Unobservable{Outdated: 1, Because: Of(SchedulerUnreachable{"forgeyard.ci", Of(SchedulerError{"refused"})})},
			"1 instance outdated, none replaced: scheduler.forgeyard.ci is unreachable (refused)"},
		{Pinned{Outdated: 1}, "1 instance outdated and pinned: replaced when the pin ends"},
		{PaidMinimum{2, 3, exampleInstant},
			"2 instances above the desired 3: kept idle, paid for, the first until 2026-11-30 14:02 UTC"},
		{NoEligibleFleet{Jobs: 1}, "1 queued job that no fleet can run: no fleet has this scheduler"},
		{JobTooLarge{Job: Resource{"cpu", 1500}}, "one job takes 1.5 cpu, and the class does not set cpu"},
		{NotEntitled{Tenant: "a", Project: "b", Class: "mac"},
			`neither the tenant "a" nor the project "b" is entitled to the class "mac"`},
		{RolloutRolling{RolloutTarget{Agent: "1.2.0"}, exampleLeft, Pace{Unavailable: 1}},
			"rollout of agent 1.2.0: 3 of 5 left, one at a time"},
		{RolloutRolling{RolloutTarget{}, exampleLeft, Pace{2, 1}},
			"rollout of the new definition: 3 of 5 left, at most 2 extra and 1 unavailable"},
		{FreezeInForce{Provider: "cloud.a", Decided: Attribution{By: "alice", At: exampleInstant}},
			"provider cloud.a frozen by alice on 2026-11-30 14:02 UTC: no instance starts, drains or ends"},
		{ScaleInForce{Min: 1, HasMin: true, Max: 2, HasMax: true, Decided: alice},
			"min = 1 and max = 2 set by alice until 2026-11-30 14:02 UTC"},
		{CostOverrideInForce{Decided: alice}, "cost override by alice until 2026-11-30 14:02 UTC: no cost limits"},
		{InstancesMissing{1, 2, true}, "1 of 2 desired instances missing: waiting for hosts to be joined"},
		{AgentLeft{Message: "max_jobs = 5 reached.", Leases: Of(NoNewLease{})},
			"the agent ended by itself: max_jobs = 5 reached; its scheduler gives it no new lease"},
		{AgentLeft{Message: "idle", Awaited: true},
			"the agent ended by itself: idle; it leaves once its scheduler shows no lease on it"},
		{IdleProof{Agent: Of(AgentStopped{Jobs: 1})}, "the agent stopped after 1 job, and no process of a job is left"},
		{StateDeadline{State: "enrolling", Limit: exampleMinute, Waiting: exampleChecks},
			"enrolling for longer than 1m; waiting for health: no heartbeat yet"},
		{QuarantinedBy{By: "alice", Comment: "miner"}, "quarantined by alice (miner)"},
		{ScaleDown{From: 3, To: 2, Because: Of(RaisedToMin{Min: 2})}, "scale down 3 → 2: not needed beyond min = 2"},
		{QuarantinedBy{By: "alice", Target: "image", Unsent: true},
			"its image was quarantined by alice; its request is not sent again"},
		{InterruptionMove{Notice: exampleNotice, Due: true},
			"the provider takes it away at 2026-11-30 14:02 UTC, announced by the agent; the time has come, and what runs on " +
				"it is lost to the infrastructure"},
		{NothingCreated{}, "nothing was created"},
		{ResourceEnded{Resource: "i-1"}, "the provider shows i-1 as ended"},
		{KeyNotListed{}, "no resource carries its key"},
		{CallUnderWay{Plugin: true}, "a call with its key is still running in the plugin: wait until it is over"},
		{DanglingRemains{ListOf(RemovalTried{Resource: exampleVolume, Attempts: 1})},
			"the volume vol-1 still exists after 1 attempt to remove it: the provider gave no reason"},
		{ProofRejected{Kind: "another_claim"},
			"its ownership proof was made for something else: its tags were changed or copied, or another made it"},
		{IdentityProven{Key: "3f2a"}, "the instance's single-use token was used for key 3f2a"},
		{ResourceNotShown{}, "no inspection has shown the host yet"},
		{ResourceNotShown{Resource: "i-1", Address: true}, "the provider shows no address of i-1 yet"},
		{JobsNotIsolated{},
			`jobs are not isolated; if you trust the jobs, admission { job_isolation = "none" } admits the host`},
		{ResourcesListed{Provider: "local.here", Resource: "x"}, `provider local.here lists no resource "x"`},
		{
			DrainStarted{Frozen: true},
			"it drains: it takes no more jobs; its fleet is frozen, so it is removed and replaced only after the " +
				"freeze is cleared",
		},
		{DrainStarted{Kept: true}, "it is already draining, and stays so even if it is needed again"},
		{OrphanOfEnded{Instance: "01k9"}, "it belongs to instance 01k9, which had ended"},
		{FailuresInRow{Failures: 3, Last: Of(StoredText{Words: "no space left."}), Class: "transient"},
			"3 failures in a row; last: no space left (transient)"},
		{ProviderDown{Provider: "local.here", Because: Of(StoredText{Words: "no plugin."})},
			"provider local.here is down until a person acts: no plugin"},
		{LimitedByMax{Max: 4, Override: Attribution{By: "alice", Comment: "release week"}},
			"limited by max = 4 (override by alice: release week)"},
		{Interruption{Kind: "rebalance", Source: "provider"},
			"the provider may take it away soon, announced by the provider: it leaves after its jobs"},
	} {
		if got := tt.given.Text(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestTimesToComeAreRelativeForWhoeverReadsNow(t *testing.T) {
	at := exampleInstant.Time()
	hold := Of(HeldBack{Because: Plain("3 failures in a row"), NextTry: exampleInstant})
	for name, tt := range map[string]struct{ got, want string }{
		"a hold before its next try": {hold.TextAt(at.Add(-5 * time.Second)), "3 failures in a row; next try in 5s"},
		"a hold that is over":        {hold.TextAt(at), "3 failures in a row"},
		"a hold in a log":            {hold.Text(), "3 failures in a row; next try at 14:02:05 UTC"},
		"an offer without capacity":  {exampleExhausted.TextAt(at), "no capacity since 14:02 UTC, next try in 3m"},
		"an offer since long ago": {exampleExhausted.TextAt(at.Add(24 * time.Hour)),
			"no capacity since 2026-11-30 14:02 UTC, next try in 1s"},
		"any reason with a time": {WithNextTry(Plain("it failed."), at, at.Add(-time.Minute)), "it failed; next try in 1m"},
		"any reason without one": {WithNextTry(Plain("it failed."), time.Time{}, at), "it failed"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", name, tt.got, tt.want)
		}
	}
}

func TestCommandsAreQuotedForAShell(t *testing.T) {
	freeze := Of(FreezeInForce{Fleet: `linux["a b"]`})
	if got := freeze.Commands(); len(got) != 1 || got[0].Line != `forgeyard-fleet freeze 'linux["a b"]' --clear` {
		t.Errorf("%+v", got)
	}
	halted := Of(RolloutHalted{Fleet: "linux", Target: exampleTarget})
	if got := halted.Commands(); len(got) != 2 || got[0].Line != "forgeyard-fleet image rollout linux --resume" ||
		got[1].Does != "roll back" {
		t.Errorf("%+v", got)
	}
}
