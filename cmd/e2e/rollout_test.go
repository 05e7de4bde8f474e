//go:build linux

package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var moved = regexp.MustCompile(`demo ([0-9a-z]{26}): (?:[a-z]+ → )?([a-z]+): `)

func TestAChangeThatReplacesInstancesReplacesOneAtATime(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 3, max: 3}.String())
	w.install()
	w.apply(0)
	before := w.shouldHave(3)

	w.write(definition{min: 3, max: 3, instance: "nice = 1"}.String())
	if r := w.fleet(
		2,
		"plan",
		"--detailed-exitcode",
	); !strings.Contains(r.out, "replaces instances") ||
		!strings.Contains(r.out, "3 to replace") {
		t.Errorf("the plan doesn't say what it replaces:\n%s", r.out)
	}
	r := w.apply(0)
	for _, i := range w.shouldHave(3) {
		if slices.ContainsFunc(before, func(o instance) bool { return o.ID == i.ID }) {
			t.Errorf("instance %s was not replaced", i.ID)
		}
	}
	// Every move is a line, so the lines tell how many there ever were.
	state := map[string]string{}
	for _, i := range before {
		state[i.ID] = "healthy"
	}
	for _, move := range moved.FindAllStringSubmatch(r.out, -1) {
		state[move[1]] = move[2]
		live, unready := 0, 0
		for _, s := range state {
			if s != "terminated" {
				live++
			}
			if s != "terminated" && s != "healthy" {
				unready++
			}
		}
		if live > 3 {
			t.Errorf("%d instances were there at once, max is 3, at %s", live, move[0])
		}
		if unready > 1 {
			t.Errorf("%d instances were on their way at once, at %s", unready, move[0])
		}
	}
	if len(state) != 6 {
		t.Errorf("%d instances were seen, want 3 old and 3 new:\n%s", len(state), r.out)
	}
	if r := w.fleet(0, "plan", "--detailed-exitcode"); !strings.Contains(r.out, "No changes.") {
		t.Errorf("the plan afterwards says:\n%s", r.out)
	}
}

func TestAChangeOfALabelReplacesNothing(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 1}.String())
	w.install()
	w.apply(0)
	before := w.agents()
	w.write(definition{min: 1, max: 1, instance: `label = "the first"`}.String())
	if r := w.fleet(2, "plan", "--detailed-exitcode"); strings.Contains(r.out, "replaces instances") {
		t.Errorf("the plan says that it replaces instances:\n%s", r.out)
	}
	w.apply(0)
	w.shouldHave(1)
	for key, pid := range before {
		if now, alive := w.agent(key); !alive || now != pid {
			t.Errorf("the agent %d of %s was replaced", pid, key)
		}
	}
}
