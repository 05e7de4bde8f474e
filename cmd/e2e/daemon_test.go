//go:build linux

package e2e

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// served starts the daemon and waits until it answers.
func (w *workspace) served() *command {
	w.t.Helper()
	daemon := w.start("serve", "--api-listen", "127.0.0.1:0")
	daemon.mustSay("Serving")
	return daemon
}

// stop ends a daemon as systemd does, and insists on an ordered end.
func (c *command) stop() {
	c.t.Helper()
	c.signal(syscall.SIGTERM)
	if r := c.wait(); r.code != 0 {
		c.t.Fatalf("the daemon ended with %d\n%s", r.code, r.err)
	}
}

var apiLine = regexp.MustCompile(`(https://\S+), authority (sha256:[0-9a-f]{64})`)

// remote is the workspace as it is used from elsewhere, with a token that has
// the permissions.
func (w *workspace) remote(daemon *command, permissions string) (far *workspace, url string) {
	w.t.Helper()
	found := apiLine.FindStringSubmatch(daemon.out.String())
	if found == nil {
		w.t.Fatalf("the daemon doesn't say where its API is:\n%s", daemon.out.String())
	}
	lines := strings.Fields(
		w.fleet(
			0,
			"token",
			"create",
			strings.NewReplacer(".", "-", ",", "-").Replace(permissions),
			"--permission",
			permissions,
		).out,
	)
	copied := *w
	copied.environ = append(
		append([]string(nil), w.environ...),
		"FLEET_SERVER_CA="+found[2],
		"FLEET_TOKEN="+lines[len(lines)-1],
	)
	return &copied, found[1]
}

func TestOneScenarioThroughAllThreeWays(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	d := definition{min: 2, max: 4}
	w.write(d.String())
	w.install()
	daemon := w.served()

	w.fleet(2, "plan", "--detailed-exitcode")
	w.apply(0)
	w.shouldHave(2)
	if out := w.fleet(0, "plan").out; !strings.Contains(out, "  provider.local.here: account this machine, in ") {
		t.Errorf("the plan doesn't say where the provider acts:\n%s", out)
	}
	if out := w.fleet(0, "status").out; !strings.Contains(out, "forgeyard-fleet serve") {
		t.Errorf("status doesn't say that the daemon is the manager:\n%s", out)
	}
	if r := w.fleet(1, "serve"); !strings.Contains(r.err, "in use by process") || !strings.Contains(r.err, "serve") {
		t.Errorf("a second daemon ends with %s", r.err)
	}

	far, url := w.remote(daemon, "fleet.manage,fleet.read")
	d.min = 3
	w.write(d.String())
	far.fleet(2, "plan", "--detailed-exitcode", "--server", url)
	far.apply(0, "--server", url)
	w.shouldHave(3)
	near, remote := w.fleet(0, "list").out, far.fleet(0, "list", "--server", url).out
	daemon.stop()
	if here := w.fleet(0, "list").out; near != here || near != remote {
		t.Errorf("three ways show three things:\nsocket\n%s\nserver\n%s\nhere\n%s", near, remote, here)
	}
	w.write(definition{removed: true}.String())
	w.apply(0)
	w.shouldBeEmpty()
}

func TestATokenDoesWhatItMayAndNoMore(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 2}.String())
	w.install()
	daemon := w.served()
	far, url := w.remote(daemon, "fleet.read")
	far.fleet(0, "list", "--server", url)
	// What a plan answers tells of files that the manager alone may read.
	if r := far.fleet(1, "plan", "--server", url); !strings.Contains(r.err, "fleet.manage") {
		t.Errorf("a plan without the permission: %s", r.err)
	}
	if r := far.fleet(1, "apply", "--auto-approve", "--server", url); !strings.Contains(r.err, "fleet.manage") {
		t.Errorf("an apply without the permission: %s", r.err)
	}
	w.fleet(0, "token", "delete", "fleet-read")
	if r := far.fleet(1, "list", "--server", url); !strings.Contains(r.err, "not accepted") {
		t.Errorf("a revoked token: %s", r.err)
	}
	daemon.stop()
	if strings.Contains(daemon.err.String(), "fyk_") {
		t.Error("a token's secret is in the log")
	}
	w.shouldBeEmpty()
}

func TestADaemonStoppedInABurstGoesOnAfterItsNextStart(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 6, max: 6}.String())
	w.install()
	daemon := w.served()
	apply := w.start("apply", "--auto-approve")
	apply.mustSay("requested")
	daemon.stop()
	apply.wait() // its connection was cut; that doesn't matter here
	for _, i := range w.instances() {
		for _, op := range i.Operations {
			if op.State == "in_progress" {
				t.Errorf("%s of %s is still in progress after an ordered stop", op.Kind, i.ID)
			}
		}
	}
	daemon = w.served()
	w.apply(0)
	w.shouldHave(6)
	w.write(definition{removed: true}.String())
	w.apply(0)
	daemon.stop()
	w.shouldBeEmpty()
}
