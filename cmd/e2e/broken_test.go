//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"
)

// twoProviders is a fleet file with the fleet "demo" at one provider block and
// the fleet "other" at another.
func twoProviders(min int) string {
	d := definition{min: min, max: 4}.String()
	_, fleetBlock, _ := strings.Cut(d, "\nfleet ")
	other := strings.NewReplacer(`"demo"`, `"other"`, "local.here", "local.there").Replace("\nfleet " + fleetBlock)
	return d + "\nprovider \"local\" \"there\" {\n  root = \"${var.root}-there\"\n}\n" + other
}

// Five deaths in ten minutes: it isn't started a sixth time, its fleet
// doesn't change, the other one works as before, status says so, and an apply tries it again.
func TestCrashLoopingPluginStopsUntilNextApply(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(twoProviders(1))
	w.install()
	w.served()
	w.apply(0)
	eventually(t, "see both plugins", func() bool { return len(w.launches()) == 2 })
	spared, agents := w.launches()[0].pid, w.pids("forgeyard-runner")
	for range 5 {
		var victim int
		eventually(t, "see the plugin run", func() bool {
			all := slices.DeleteFunc(w.launches(), func(l launch) bool { return l.pid == spared })
			if len(all) == 1 && w.alive(all[0].pid) {
				victim = all[0].pid
			}
			return victim != 0
		})
		process{pid: victim}.kill()
		eventually(t, "see it gone", func() bool { return !w.alive(victim) })
	}
	const broken = " can't be inspected (it died 5 times within 10m0s and is not started again until it is told to " +
		"(mend it and run: forgeyard-fleet apply)"
	var status string
	eventually(t, "see status say that it is broken", func() bool {
		status = w.fleet(0, "status").out
		return strings.Contains(status, broken)
	})
	if strings.Count(status, "can't be inspected") != 1 || !strings.Contains(status, "provider_degraded") ||
		!strings.Contains(status, "   healthy, active") {
		t.Errorf("status says\n%s", status)
	}
	if now := w.launches(); len(now) != 1 || now[0].pid != spared {
		t.Errorf("the plugins are %v, want the other one alone, %d", now, spared)
	}
	if now := w.pids("forgeyard-runner"); !slices.Equal(now, agents) {
		t.Errorf("the agents were %v and are %v", agents, now)
	}

	w.write(twoProviders(2))
	w.apply(0)
	if all := w.instances(); len(all) != 4 ||
		slices.ContainsFunc(all, func(i instance) bool { return i.State != "healthy" }) {
		t.Errorf("after an apply the instances are %+v", all)
	}
	if out := w.fleet(0, "status").out; strings.Contains(out, "can't be inspected") {
		t.Errorf("after an apply status says\n%s", out)
	}
}
