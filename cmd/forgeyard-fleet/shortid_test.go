package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// withInstances has a desk's installation hold instances of fleet.demo.
func (d *desk) withInstances(ids ...fleet.CapacityInstanceID) {
	d.t.Helper()
	d.must(exitDone, "apply", "--auto-approve", d.files)
	s, err := store.Open(d.t.Context(), filepath.Join(d.env["FLEET_STATE_DIR"], "fleet.db"))
	if err != nil {
		d.t.Fatal(err)
	}
	f := fleet.ManagedFleet{
		ID:          "01jzzzzzzzzzzzzzzzzzzzzzzf",
		RunnerFleet: fleet.RunnerFleet{Address: "fleet.demo", Provider: "local.here"},
		Operational: fleet.FleetActive,
	}
	if _, err = s.Claim(d.t.Context(), "a test", time.Now()); err != nil {
		d.t.Fatal(err)
	}
	_, err = s.ApplyDefinition(
		d.t.Context(),
		store.Apply{
			Expect:     1,
			Definition: fleet.Definition{Installation: "desk"},
			Fleets:     []fleet.ManagedFleet{f},
			By:         "a test",
		},
	)
	var change store.Change
	for _, id := range ids {
		change.Instances = append(
			change.Instances,
			fleet.CapacityInstance{
				ID:       id,
				Key:      fleet.OperationID(id),
				Fleet:    f.ID,
				Provider: f.Provider,
				State:    fleet.Healthy,
				Created:  time.Unix(0, 0),
				Since:    time.Unix(0, 0),
			},
		)
	}
	if err == nil {
		err = s.Commit(d.t.Context(), change)
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func TestEveryCommandTakesAShortInstanceID(t *testing.T) {
	const one, other = fleet.CapacityInstanceID("01jabcdefghjkmnpqrcet6vksa"),
		fleet.CapacityInstanceID("01jabcdefghjkmnpqrcet6vksb")
	const twin = fleet.CapacityInstanceID("01jabcdefghjkmnpqscet6vksb")
	d := newDesk(t)
	d.withInstances(one, other, twin)
	if out, _ := d.must(exitDone, "events"); !strings.Contains(out, "demo "+render.ShortID(one)) {
		t.Fatalf("events shows\n%s", out)
	}
	for _, shown := range []string{render.ShortID(one), "cet6vksa", "CET6VKSA"} {
		if out, _ := d.must(exitDone, "instance", "show", shown); !strings.HasPrefix(out, string(one)) {
			t.Errorf("instance show %s:\n%s", shown, out)
		}
		for _, args := range [][]string{{"pin"}, {"pin", "--clear"}, {"quarantine", "--auto-approve"},
			{"quarantine", "--clear", "--auto-approve"}} {
			if out, _ := d.must(exitDone, append(args, shown)...); !strings.Contains(out, string(one)) {
				t.Errorf("%v %s:\n%s", args, shown, out)
			}
		}
		for _, line := range []string{"drain", "drain --force", "instance replace", "instance resolve --gone",
			"instance resolve --created x"} {
			code, out := d.run(t.Context(), strings.NewReader("no\n"), true, append(strings.Fields(line), shown)...)
			if code != exitDeclined || !strings.Contains(out.String(), string(one)) {
				t.Errorf("%s %s exits with %d:\n%s", line, shown, code, out)
			}
		}
		d.must(exitDone, "instance", "list", "--all", "--before", shown)
	}
	for _, line := range []string{"instance show", "pin", "pin --clear", "quarantine --auto-approve",
		"drain --auto-approve", "instance replace --auto-approve", "instance resolve --gone --auto-approve",
		"instance list --all --before"} {
		_, said := d.must(exitError, append(strings.Fields(line), render.ShortID(other))...)
		if !strings.Contains(said, "2 instances have an id that begins or ends with") ||
			!strings.Contains(said, string(other)+"  fleet.demo, healthy") ||
			!strings.Contains(said, string(twin)) {
			t.Errorf("%s of an ambiguous one: %s", line, said)
		}
	}
}

func TestAMisspeltFleetQuarantinesNoInstance(t *testing.T) {
	d := newDesk(t)
	d.withInstances("01jabcdefghjkmnpqrcet6vksa")
	for _, word := range []string{"vksa", "01jabcd", "dem"} {
		if _, said := d.must(
			exitError,
			"quarantine",
			"--auto-approve",
			word,
		); !strings.Contains(
			said,
			`fleet "`+word+`" not found`,
		) {
			t.Errorf("quarantine %s: %s", word, said)
		}
	}
}
