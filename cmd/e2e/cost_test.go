//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// costing is the fleet file with a cost block in its fleet.
func costing(d definition, cost string) string {
	return strings.Replace(d.String(), "  admission {", "  cost {\n    "+cost+"\n  }\n\n  admission {", 1)
}

func TestACostOverrideLiftsAGuardrail(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	d := definition{min: 3, max: 4}
	const binds = "limited by max_hourly = 1.5 USD: "
	w.write(costing(d, `max_hourly = "1.5 USD"`))
	w.install()
	if r := w.fleet(1, "plan"); !strings.Contains(r.err, "max_hourly needs a price") {
		t.Errorf("a limit without a price: %s", r.err)
	}
	w.write(costing(d, "hourly     = \"1 USD\"\n    max_hourly = \"1.5 USD\""))
	if out := w.fleet(
		0,
		"plan",
	).out; !strings.Contains(out, binds+"with 1 more, 1 instance costs 1 USD an hour, and another one costs 1 USD") ||
		!strings.Contains(out, "up to 1 USD once the new instances run (max_hourly = 1.5 USD)") {
		t.Errorf("plan doesn't say what holds it:\n%s", out)
	}
	w.apply(0) // what is allowed is there
	w.shouldHave(1)
	if r := w.fleet(1, "cost-override", "demo", "--for", "1h", "--auto-approve"); !strings.Contains(r.err, "--reason") {
		t.Errorf("without a reason: %s", r.err)
	}
	// Here, while no manager runs.
	r := w.fleet(
		0,
		"cost-override",
		"demo",
		"--for",
		"1h",
		"--max-hourly",
		"2 USD",
		"--reason",
		"release",
		"--auto-approve",
	)
	if !strings.Contains(r.out, "max_hourly = 2 USD until ") || !strings.Contains(r.out, "No manager is running") {
		t.Errorf("the receipt: %s", r.out)
	}
	if out := w.fleet(
		0,
		"explain",
		"demo",
	).out; !strings.Contains(out, "cost override by ") ||
		!strings.Contains(out, "(release): max_hourly = 2 USD") {
		t.Errorf("explain doesn't say who set the cost override:\n%s", out)
	}
	// Through the daemon's socket.
	daemon := w.served()
	eventually(t, "see a second instance start under the raised limit", func() bool {
		return strings.Contains(w.fleet(0, "status", "demo").out, "ready 2")
	})
	// From elsewhere, with the permission and without it.
	weak, url := w.remote(daemon, "fleet.read,fleet.scale")
	if r := weak.fleet(
		1,
		"cost-override",
		"demo",
		"--for",
		"1h",
		"--reason",
		"more",
		"--auto-approve",
		"--server",
		url,
	); !strings.Contains(
		r.err,
		"fleet.manage",
	) {
		t.Errorf("without the permission: %s", r.err)
	}
	far, _ := w.remote(daemon, "fleet.read,fleet.manage")
	far.fleet(0, "cost-override", "demo", "--for", "1h", "--reason", "all of it", "--auto-approve", "--server", url)
	eventually(t, "see a third instance start without a limit", func() bool {
		return strings.Contains(w.fleet(0, "status", "demo").out, "ready 3")
	})
	far.fleet(0, "cost-override", "demo", "--clear", "--server", url)
	if out := far.fleet(
		0,
		"status",
		"demo",
		"--server",
		url,
	).out; strings.Contains(out, "* cost override by") ||
		!strings.Contains(out, "estimated cost: up to 3 USD per hour (max_hourly = 1.5 USD)") ||
		!strings.Contains(out, "ready 3") {
		t.Errorf("the end of it takes nothing away:\n%s", out)
	}
	daemon.stop()
	w.shouldHave(3)
	w.write(definition{removed: true}.String())
	w.apply(0)
	w.shouldBeEmpty()
}
