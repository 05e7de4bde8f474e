//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// completions are the words that a shell would offer, without descriptions, and
// the directive for the rest.
func (w *workspace) completions(args ...string) (words []string, directive string) {
	w.t.Helper()
	out := w.fleet(0, append([]string{"__complete"}, args...)...).out
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if strings.HasPrefix(line, ":") {
			return words, line
		}
		word, _, _ := strings.Cut(line, "\t")
		words = append(words, word)
	}
	w.t.Fatalf("no directive in\n%s", out)
	return nil, ""
}

func TestAShellCompletesTheNamesThatThereAre(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	const noFiles, folders = ":4", ":16"
	expect := func(directive string, want []string, args ...string) {
		t.Helper()
		if got, is := w.completions(args...); !slices.Equal(got, want) || is != directive {
			t.Errorf("%q is completed with %q %s, want %q %s", args, got, is, want, directive)
		}
	}
	// Before anything is there: no names, no error, and nothing is written.
	expect(noFiles, nil, "status", "")
	expect(noFiles, nil, "instance", "show", "")
	for _, path := range []string{w.state, w.plugins, w.run} {
		if exists(path) {
			t.Errorf("completion wrote %s", path)
		}
	}
	w.write(definition{min: 2, max: 2}.String())
	w.install()
	w.apply(0)
	var ids []string
	for _, i := range w.instances() {
		ids = append(ids, i.ID)
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	w.fleet(0, "token", "create", "ci-reader", "--permission", "fleet.read")
	check := func() {
		t.Helper()
		expect(noFiles, []string{"demo", "fleet.demo"}, "status", "")
		expect(noFiles, []string{"fleet.demo"}, "status", "fl")
		expect(noFiles, ids, "instance", "show", "")
		expect(noFiles, []string{"ci-reader"}, "token", "delete", "")
		expect(noFiles, []string{"fleet.demo"}, "token", "create", "x", "--fleet", "")
		expect(noFiles, []string{"demo", "fleet.demo"}, "instance", "list", "--fleet", "")
	}
	before, err := os.ReadFile(w.path("state/fleet.db"))
	if err != nil {
		t.Fatal(err)
	}
	check()
	if after, err := os.ReadFile(w.path("state/fleet.db")); err != nil || string(after) != string(before) {
		t.Errorf("completion wrote to the store: %v", err)
	}
	if out := w.fleet(
		0,
		"__complete",
		"instance",
		"show",
		"",
	).out; !strings.Contains(
		out,
		ids[0]+"\thealthy, fleet.demo",
	) {
		t.Errorf("an id has no state beside it:\n%s", out)
	}
	daemon := w.served()
	check()
	far, url := w.remote(daemon, "fleet.read")
	if got, _ := far.completions("status", "--server", url, ""); !slices.Equal(got, []string{"demo", "fleet.demo"}) {
		t.Errorf("from elsewhere: %q", got)
	}
	daemon.stop()
	// Nothing answers there, and a shell isn't kept waiting for it.
	if got, _ := far.completions("status", "--server", "https://127.0.0.1:1", ""); got != nil {
		t.Errorf("from nowhere: %q", got)
	}

	expect(folders, nil, "plan", "")
	expect(folders, nil, "status", "--state", "")
	expect(noFiles, []string{"debug", "info", "warn", "error"}, "list", "--log-level", "")
	w.write(definition{removed: true}.String())
	w.apply(0)
	w.shouldBeEmpty()
}

// What a shell would be given must be what it can read.
func TestTheCompletionScriptOfBashIsOne(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	for _, shell := range []string{"zsh", "fish", "powershell"} {
		if out := w.fleet(0, "completion", shell).out; !strings.Contains(out, "forgeyard-fleet") {
			t.Errorf("the script for %s is\n%s", shell, out)
		}
	}
	check := exec.Command("bash", "-n")
	check.Stdin = strings.NewReader(w.fleet(0, "completion", "bash").out)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("bash can't read it: %v\n%s", err, out)
	}
	w.fleet(1, "completion", "tcsh")
}
