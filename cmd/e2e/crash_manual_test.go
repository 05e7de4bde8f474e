//go:build linux

package e2e

import (
	"testing"
)

// newLab is a workspace with an inventory, whose programs can be armed.
func newLab(t *testing.T) *crashed {
	t.Helper()
	dir, err := crashBin()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorkspace(t)
	w.bin = dir
	w.write(lab(`"lin-1"`, "sleep 0.2"))
	w.install()
	daemon := w.served() // the first apply of an inventory makes nothing, and ends
	w.apply(0)
	daemon.stop()
	return &crashed{workspace: w}
}

// joinLab joins the one host, whatever became of earlier claims, and insists that
// there is one instance of it.
func (c *crashed) joinLab() *command {
	c.t.Helper()
	daemon := c.served()
	if out, code := c.paste("bash", "lin-1", c.join("lin-1")); code != 0 {
		c.t.Fatalf("the line ended with %d:\n%s", code, out)
	}
	c.shouldBe(1, "healthy")
	if agents := c.pids("forgeyard-runner"); len(agents) != 1 {
		c.t.Errorf("agents: %v", agents)
	}
	return daemon
}

// claim dies while a host is claimed: it is claimed once or not at all, and the
// next line joins it.
var claim = story{"claim", func(t *testing.T, points ...string) {
	c := newLab(t)
	for _, point := range points {
		c.dieAt(point, "token", "create", "--join", "lin-1")
	}
	c.removeLab(c.joinLab())
}}

// release dies while a joined host is let go: its agent ends, the host is free,
// and it can be joined again.
var release = story{"release", func(t *testing.T, points ...string) {
	c := newLab(t)
	c.joinLab().stop()
	c.write(removedLab())
	for _, point := range points {
		c.dieAt(point, "apply", "--auto-approve")
	}
	c.apply(0)
	daemon := c.served() // an agent hears of its release from whichever manager is there next
	eventually(t, "see the agent of the released host end", func() bool { return len(c.pids("forgeyard-runner")) == 0 })
	daemon.stop()
	c.shouldBeEmpty()
	c.write(lab(`"lin-1"`, "sleep 0.2"))
	daemon = c.served()
	c.apply(0)
	daemon.stop()
	c.removeLab(c.joinLab())
}}
