//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestASilentAgentIsFootprintAndNotCapacityUntilItBeatsAgain(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	gate := w.path("gate")
	file := definition{min: 2, max: 2, command: "until [ -e " + gate + " ]; do sleep 0.05; done"}.String()
	w.write(strings.Replace(file, "  admission {", "  timeouts {\n    heartbeat = \"4s\"\n  }\n\n  admission {", 1))
	w.install()
	daemon := w.served()
	w.apply(0)
	var jobs []process
	two := func() bool { jobs = w.jobs(); return len(jobs) == 2 } // a shell that forks is two for a moment
	eventually(t, "see the jobs run", two)
	before := w.shouldHave(2)
	pid, _ := w.agent(before[0].Key)
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "see one runner silent", func() bool {
		out := w.fleet(0, "status").out
		return strings.Contains(out, "silent 1") && strings.Contains(out, "ready 1 ") &&
			strings.Contains(out, "no heartbeat from 1 runner")
	})
	if hosts := w.keys(); len(hosts) != 2 {
		t.Errorf("there are %d hosts; the silent one counts against max, and none is made for it", len(hosts))
	}
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "see it ready again", func() bool { return strings.Contains(w.fleet(0, "status").out, "ready 2 ") })
	eventually(t, "see the same jobs run", func() bool { return slices.Equal(w.jobs(), jobs) })
	touch(t, gate)
	after := w.shouldHave(2)
	for _, i := range before {
		if !slices.ContainsFunc(after, func(now instance) bool { return now.ID == i.ID }) {
			t.Errorf("instance %s was replaced", i.ID)
		}
	}
	daemon.stop()
}

func TestTheAuthorityIsReplacedWhileAgentsGoOn(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 2}.String())
	w.install()
	daemon := w.served()
	w.apply(0)
	before := w.shouldHave(1)
	if out := w.fleet(0, "key", "rotate", "ca", "--auto-approve").out; !strings.Contains(out, "FLEET_SERVER_CA") {
		t.Errorf("it says %s", out)
	}
	eventually(t, "see the agent know the new authority", func() bool {
		return strings.Contains(w.read("hosts/"+before[0].Key+"/agent.log"), "the new authority works")
	})
	if r := w.fleet(1, "key", "rotate", "authority", "--auto-approve"); !strings.Contains(r.err, "isn't over") {
		t.Errorf("a second rotation: %s", r.err)
	}
	eventually(t, "see what the old authority is still needed for, once the agent called under the new one", func() bool {
		return strings.Contains(w.fleet(0, "key", "list").out, "has a certificate of it until it renews")
	})
	w.write(definition{min: 2, max: 2}.String())
	w.apply(0)
	if after := w.shouldHave(2); !slices.ContainsFunc(after, func(i instance) bool { return i.ID == before[0].ID }) {
		t.Errorf("the instance %s was replaced", before[0].ID)
	}
	daemon.stop()
	if out := w.fleet(0, "key", "list").out; strings.Count(out, "fingerprint") < 2 {
		t.Errorf("without a daemon the list is:\n%s", out)
	}
}
