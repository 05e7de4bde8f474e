//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unrecorded is one of `instance list --unrecorded --json`.
type unrecorded struct {
	ID             string      `json:"id"`
	Classification string      `json:"classification"`
	Reason         shownReason `json:"reason"`
	Decide         shownReason `json:"decide"`
}

// shownReason is a reason in JSON.
type shownReason struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

func (w *workspace) unrecorded() map[string]unrecorded {
	w.t.Helper()
	var all []unrecorded
	if err := json.Unmarshal([]byte(w.fleet(0, "instance", "list", "--unrecorded", "--json").out), &all); err != nil {
		w.t.Fatal(err)
	}
	byID := map[string]unrecorded{}
	for _, u := range all {
		byID[u.ID] = u
	}
	return byID
}

// putHost makes a host's folder by hand: the record of another one, with changes.
func (w *workspace) putHost(key, like string, change func(record map[string]any)) {
	w.t.Helper()
	var record map[string]any
	if err := json.Unmarshal([]byte(w.read("hosts/"+like+"/resource.json")), &record); err != nil {
		w.t.Fatal(err)
	}
	record["key"] = key
	change(record)
	text, err := json.Marshal(record)
	if err != nil {
		w.t.Fatal(err)
	}
	making := filepath.Join(w.hosts, ".made-by-hand-"+key)
	if err := os.Mkdir(making, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(making, "resource.json"), text, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(making, filepath.Join(w.hosts, key)); err != nil {
		w.t.Fatal(err)
	}
}

func TestLookAlikesAreShownLeftAloneAndRemovedWhenAPersonSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 3}.String())
	w.install()
	daemon := w.served()
	w.apply(0)
	own := w.shouldHave(1)[0]

	w.putHost("copied", own.Key, func(map[string]any) {})
	w.putHost("foreign", own.Key, func(r map[string]any) {
		r["tags"] = map[string]string{"forgeyard-installation": r["installation"].(string), "forgeyard-key": "foreign"}
	})
	var found map[string]unrecorded
	eventually(t, "see both", func() bool { found = w.unrecorded(); return len(found) == 2 })
	for id, why := range map[string]string{"copied": "proof_of_other_key", "foreign": "key_unknown"} {
		if got := found[id]; got.Classification != "foreign" || got.Reason.Code != why || got.Decide.Code != "left_alone" {
			t.Errorf("%s is shown as %+v", id, got)
		}
	}
	if out := w.fleet(0, "plan", "--detailed-exitcode").out; !strings.Contains(out, "2 resources without a live record") {
		t.Errorf("the plan doesn't show them:\n%s", out)
	}
	if out := w.fleet(0, "status").out; !strings.Contains(out, "2 foreign resources (left alone)") {
		t.Errorf("the status doesn't show them:\n%s", out)
	}

	adopt := func(code int, id string, more ...string) result {
		return w.fleet(
			code,
			append([]string{"instance", "adopt", "local.here", id, "--fleet", "demo", "--auto-approve"}, more...)...)
	}
	if r := adopt(1, "foreign"); !strings.Contains(r.err, "can't become a runner") {
		t.Errorf("without --remove: %s", r.err)
	}
	if r := adopt(1, own.Key, "--remove"); !strings.Contains(r.err, own.Key+" is the resource of instance "+own.ID) {
		t.Errorf("our own: %s", r.err)
	}
	if r := w.fleet(
		1,
		"instance",
		"resolve",
		own.ID,
		"--gone",
		"--auto-approve",
	); !strings.Contains(
		r.err,
		"the provider lists "+own.Key,
	) {
		t.Errorf("gone, though listed: %s", r.err)
	}
	adopt(0, "foreign", "--remove")
	eventually(t, "see the foreign host gone", func() bool { return !slices.Contains(w.keys(), "foreign") })

	w.fleet(0, "instance", "replace", own.ID, "--auto-approve")
	eventually(t, "see another in its place", func() bool {
		all := w.instances()
		return len(all) == 1 && all[0].ID != own.ID && all[0].State == "healthy"
	})
	w.write(definition{removed: true}.String())
	w.apply(0)
	if left := w.keys(); !slices.Equal(left, []string{"copied"}) {
		t.Errorf("the hosts are %v; only the copy should be left, since it is foreign", left)
	}
	daemon.stop()
	if err := os.RemoveAll(filepath.Join(w.hosts, "copied")); err != nil {
		t.Fatal(err)
	}
	w.shouldBeEmpty()
}

// Without a daemon the command itself is the manager until it is done.
func TestAnInstanceIsReplacedWithoutADaemon(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 1, max: 2}.String())
	w.install()
	w.apply(0)
	own := w.shouldHave(1)[0]
	if r := w.fleet(1, "drain", own.ID, "--force", "--auto-approve"); !strings.Contains(r.err,
		"drain it without --force first") {
		t.Errorf("a force on one that takes work: %s", r.err)
	}
	w.fleet(0, "instance", "replace", own.ID, "--auto-approve")
	if now := w.shouldHave(1)[0]; now.ID == own.ID {
		t.Errorf("%s is still there", own.ID)
	}
	w.write(definition{removed: true}.String())
	w.apply(0)
	w.shouldBeEmpty()
}
