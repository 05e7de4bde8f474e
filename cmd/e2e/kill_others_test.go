//go:build linux

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// held is a workspace with hosts whose jobs run until the gate is opened.
func held(t *testing.T, min, max int) (w *workspace, gate string) {
	t.Helper()
	w = newWorkspace(t)
	gate = w.path("gate")
	// It ignores whatever asks it to end.
	w.write(
		definition{
			min:     min,
			max:     max,
			command: "trap '' TERM INT HUP QUIT; until [ -e " + gate + " ]; do sleep 0.05; done",
		}.String(),
	)
	w.install()
	w.apply(0)
	eventually(t, "see the jobs run", func() bool {
		return len(w.jobs()) >= min
	})
	return w, gate
}

// jobs are the shells that run jobs.
func (w *workspace) jobs() []process {
	return slices.DeleteFunc(w.processes(), func(p process) bool { return !strings.HasPrefix(p.command, "sh -c") })
}

func TestARemovedHostFinishesItsJob(t *testing.T) {
	t.Parallel()
	w, gate := held(t, 2, 2)
	var jobs []process
	eventually(
		t,
		"see two jobs",
		func() bool { jobs = w.jobs(); return len(jobs) == 2 },
	) // a shell that forks is two for a moment
	agents := w.agents()
	w.write(definition{removed: true}.String())
	c := w.start("apply", "--auto-approve")
	c.mustSay("→ draining")
	// The agents have been told, and said so: they begin no other job.
	eventually(t, "see both agents told to stop", func() bool {
		told := 0
		for key := range agents {
			if strings.Contains(w.read("hosts/"+key+"/agent.log"), `"want":"stop"`) {
				told++
			}
		}
		return told == 2
	})
	eventually(t, "see the same jobs run: a drain ends none", func() bool { return slices.Equal(w.jobs(), jobs) })
	for _, i := range w.instances() {
		if i.State != "draining" {
			t.Errorf("instance %s is %s while its job runs", i.ID, i.State)
		}
	}
	touch(t, gate)
	r := c.wait()
	if r.code != 0 || strings.Count(r.out, "the agent stopped after 1 job, and no process of a job is left") != 2 {
		t.Errorf("it ended with %d:\n%s%s", r.code, r.out, r.err)
	}
	w.shouldBeEmpty()
}

func TestAKilledPluginIsStartedAgainAndTheAgentsLiveOn(t *testing.T) {
	t.Parallel()
	w, gate := held(t, 2, 3)
	agents := w.agents()
	// Something to do for the plugin before it dies, and after.
	w.write(strings.Replace(w.read("fleet/fleet.hcl"), "min = 2", "min = 1", 1))
	c := w.start("apply", "--auto-approve")
	c.mustSay("→ draining")
	before, _ := w.plugin()
	if err := unix.Kill(before.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "see another plugin process", func() bool {
		now := w.launches()
		return len(now) == 1 && now[0].pid != before.pid
	})
	for key, pid := range agents {
		if now, alive := w.agent(key); !alive || now != pid {
			t.Errorf("the agent %d of %s didn't outlive the plugin", pid, key)
		}
	}
	touch(t, gate)
	if r := c.wait(); r.code != 0 {
		t.Errorf("it ended with %d:\n%s%s", r.code, r.out, r.err)
	}
	w.shouldHave(1)
}

func TestAKilledManagerTakesItsPluginAlong(t *testing.T) {
	t.Parallel()
	w, gate := held(t, 1, 2)
	agents := w.agents()
	w.write(definition{removed: true}.String())
	c := w.start("apply", "--auto-approve")
	c.mustSay("→ draining")
	plugin, socket := w.plugin()
	c.kill()
	within(t, 5*time.Second, "see the plugin's process and socket gone", func() bool {
		return !exists(socket) && !w.alive(plugin.pid)
	})
	for key, pid := range agents {
		if now, alive := w.agent(key); !alive || now != pid {
			t.Errorf("the agent %d of %s didn't outlive the manager", pid, key)
		}
	}
	touch(t, gate)
	w.apply(0)
	w.shouldBeEmpty()
}

func TestAHostWhoseAgentDiedIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 2, max: 2}.String())
	w.install()
	w.apply(0)
	before := w.shouldHave(2)
	lost, stays := before[0], before[1]
	pid, _ := w.agent(lost.Key)
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "see the agent gone", func() bool { return !w.alive(pid) })
	r := w.apply(0)
	after := w.shouldHave(2)
	if !slices.ContainsFunc(after, func(i instance) bool { return i.ID == stays.ID }) {
		t.Errorf("the living instance %s was taken away:\n%s", stays.ID, r.out)
	}
	if slices.ContainsFunc(after, func(i instance) bool { return i.ID == lost.ID }) ||
		exists(filepath.Join(w.hosts, lost.Key)) {
		t.Errorf("the dead instance %s is still there:\n%s", lost.ID, r.out)
	}
	// What its job left is gone with it.
	for _, p := range w.processes() {
		if strings.Contains(p.command, lost.Key) {
			t.Errorf("%v of the dead host still runs", p)
		}
	}
}
