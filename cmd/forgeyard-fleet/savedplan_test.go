package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
	"github.com/forgeyard/forgeyard-fleet/core/config"
)

// split is one command line with standard output and standard error apart.
func (d *desk) split(args ...string) (code int, out, errors string) {
	d.t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{
		in: strings.NewReader(
			"yes\n",
		),
		out:       &stdout,
		err:       &stderr,
		environ:   func() []string { return nil },
		now:       time.Now,
		version:   "0.1.0",
		lookupEnv: func(name string) (string, bool) { value, ok := d.env[name]; return value, ok },
	}
	code = a.run(d.t.Context(), args)
	return code, stdout.String(), stderr.String()
}

func (d *desk) must(want int, args ...string) (out, errors string) {
	d.t.Helper()
	code, out, errors := d.split(args...)
	if code != want {
		d.t.Fatalf("%v exits with %d, want %d:\n%s%s", args, code, want, out, errors)
	}
	return out, errors
}

func TestASavedPlanIsShownAsItWasPlannedAndAppliedOnce(t *testing.T) {
	d := newDesk(t)
	file := filepath.Join(t.TempDir(), "ci.plan")
	planned, _ := d.must(terminal.ExitChanges, "plan", "--detailed-exitcode", "--out", file, d.files)

	elsewhere := newDesk(t) // another machine: no files, no state, no plugins
	elsewhere.env = map[string]string{}
	shown, origin := elsewhere.must(terminal.ExitDone, "show", file)
	if shown != planned {
		t.Errorf("planned\n%s\nshown\n%s", planned, shown)
	}
	if !strings.Contains(origin, "for installation desk, saved by ") {
		t.Errorf("on standard error is %q", origin)
	}
	d.wantApplied(false)
	d.must(terminal.ExitDone, "apply", "--auto-approve", file)
	d.wantApplied(true)
	_, refused := d.must(terminal.ExitError, "apply", "--auto-approve", file)
	if !strings.Contains(refused, "the plan was used already: ") || strings.Count(refused, "\n") != 1 {
		t.Errorf("the second use: %s", refused)
	}
}

// It showed "No changes.", and then that it is stale: the first was of another day.
func TestAPlanThatIsStaleOrUsedIsRefusedBeforeItIsShownAndAsked(t *testing.T) {
	d := newDesk(t)
	d.must(terminal.ExitDone, "apply", "--auto-approve", d.files)
	stale, used := filepath.Join(t.TempDir(), "stale.plan"), filepath.Join(t.TempDir(), "used.plan")
	d.must(terminal.ExitDone, "plan", "--out", stale, d.files)
	more := "policy {\n  gpu = false\n}\n"
	if err := os.WriteFile(filepath.Join(d.files, "more.hcl"), []byte(more), 0o644); err != nil {
		t.Fatal(err)
	}
	d.must(terminal.ExitDone, "plan", "--out", used, d.files)
	d.must(terminal.ExitDone, "apply", "--auto-approve", used)
	for file, want := range map[string]string{stale: "the plan is stale: ", used: "the plan was used already: "} {
		out, errors := d.must(terminal.ExitError, "apply", file)
		if out != "" || !strings.HasPrefix(errors, "Error: "+want) || strings.Count(errors, "\n") != 1 {
			t.Errorf("%s: it says\n%s%s", want, out, errors)
		}
	}
	out, _ := d.must(terminal.ExitError, "apply", "--json", "--auto-approve", stale)
	if types, last := jsonLines(t, out); strings.Join(types, " ") != "version summary" || last["outcome"] != "error" {
		t.Errorf("for programs it says\n%s", out)
	}
}

func TestShowAsJSONIsThePlanAsJSON(t *testing.T) {
	d := newDesk(t)
	file := filepath.Join(t.TempDir(), "ci.plan")
	planned, _ := d.must(terminal.ExitDone, "plan", "--json", "--out", file, d.files)
	shown, _ := d.must(terminal.ExitDone, "show", "--json", file)
	if shown != planned || !json.Valid([]byte(shown)) {
		t.Errorf("planned\n%s\nshown\n%s", planned, shown)
	}
}

func TestWhatCannotGoWithASavedPlanIsSaid(t *testing.T) {
	d := newDesk(t)
	file := filepath.Join(t.TempDir(), "ci.plan")
	d.must(terminal.ExitDone, "plan", "--out", file, d.files)
	hcl := filepath.Join(d.files, "fleet.hcl")
	before, _ := os.ReadFile(hcl)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"apply", "--auto-approve", "--prune", file}, "plan again with --prune"},
		{[]string{"apply", "--auto-approve", "--var", "size=3", file}, "--var size is none of its sensitive ones"},
		{[]string{"apply", "--auto-approve", hcl}, "not a plan file"},
		{[]string{"show", hcl}, "not a plan file"},
		{[]string{"show", filepath.Join(d.files, "missing")}, "no such file"},
		{[]string{"plan", "--out", hcl, d.files}, "is not a plan file; nothing was written"},
		{[]string{"plan", "--out", filepath.Join(d.files, "missing", "plan"), d.files}, "no such file"},
	} {
		out, errors := d.must(terminal.ExitError, test.args...)
		if !strings.Contains(errors, test.want) || strings.Count(errors, "\n") != 1 || out != "" {
			t.Errorf("%v says\n%s%s", test.args, out, errors)
		}
	}
	if after, err := os.ReadFile(hcl); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the fleet file is now %q, %v", after, err)
	}
	d.wantApplied(false)
}

// A plan is bound to its installation by name and by key, wherever --state leads.
func TestAPlanIsNotAppliedToAnotherInstallation(t *testing.T) {
	d, twin := newDesk(t), newDesk(t)
	d.must(terminal.ExitDone, "apply", "--auto-approve", d.files)
	twin.must(terminal.ExitDone, "apply", "--auto-approve", twin.files)
	file := filepath.Join(t.TempDir(), "ci.plan")
	d.must(terminal.ExitDone, "plan", "--out", file, d.files)
	if _, errors := twin.must(
		terminal.ExitError,
		"apply",
		"--auto-approve",
		file,
	); !strings.Contains(
		errors,
		`another installation that is called "desk", too`,
	) {
		t.Errorf("an installation of the same name: %s", errors)
	}
	other := newDesk(t)
	if err := os.WriteFile(
		filepath.Join(other.files, "fleet.hcl"),
		[]byte("forgeyard {\n  installation = \"other\"\n}\n"),
		0o644,
	); err != nil {
		t.Fatal(err)
	}
	other.must(terminal.ExitDone, "apply", "--auto-approve", other.files)
	if _, errors := other.must(
		terminal.ExitError,
		"apply",
		"--auto-approve",
		file,
	); !strings.Contains(
		errors,
		`belongs to installation "other"`,
	) {
		t.Errorf("an installation of another name: %s", errors)
	}
}

// jsonLines are those of an apply --json.
func jsonLines(t *testing.T, out string) (types []string, last map[string]any) {
	t.Helper()
	for line := range strings.Lines(out) {
		last = map[string]any{}
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("%q is not valid JSON: %v", line, err)
		}
		kind, _ := last["type"].(string)
		if at, _ := last["at"].(string); kind == "" || at == "" {
			t.Errorf("a line without type or time: %s", line)
		}
		types = append(types, kind)
	}
	return types, last
}

func TestAnApplyForProgramsIsLinesOfJSONAlone(t *testing.T) {
	d := newDesk(t)
	out, errors := d.must(terminal.ExitDone, "apply", "--json", "--auto-approve", d.files)
	types, last := jsonLines(t, out)
	if got := strings.Join(types, " "); got != "version plan applied summary" || errors != "" {
		t.Errorf("the lines are %s; on standard error is %q", got, errors)
	}
	if last["outcome"] != "settled" || last["exit_code"] != 0.0 || last["changed"] != true || last["serial"] != 1.0 {
		t.Errorf("the summary is %v", last)
	}
}

func TestAnApplyForProgramsAsksNobodyAndEndsWithItsError(t *testing.T) {
	d := newDesk(t)
	out, errors := d.must(terminal.ExitError, "apply", "--json", d.files)
	types, last := jsonLines(t, out)
	if got := strings.Join(types, " "); got != "version plan summary" {
		t.Errorf("the lines are %s", got)
	}
	reason, _ := last["error"].(string)
	if last["outcome"] != "error" || last["exit_code"] != 1.0 || !strings.Contains(reason, "--auto-approve") ||
		errors != "Error: "+reason+"\n" {
		t.Errorf("the summary is %v, standard error %q", last, errors)
	}
	d.wantApplied(false)

	if err := os.WriteFile(filepath.Join(d.files, "more.hcl"), []byte("fleet \"x\" {\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, errors = d.must(terminal.ExitError, "apply", "--json", "--auto-approve", d.files)
	if types, last := jsonLines(
		t,
		out,
	); types[1] != "diagnostic" || last["outcome"] != "error" ||
		!strings.Contains(errors, "more.hcl") {
		t.Errorf("mistakes in the files: %v\n%s\n%s", types, out, errors)
	}
}

func TestValidateForProgramsTellsMistakesAsItsResult(t *testing.T) {
	d := newDesk(t)
	for _, test := range []struct {
		more  string
		code  int
		valid bool
	}{{"", terminal.ExitDone, true}, {"fleet \"x\" {\n}\n", terminal.ExitError, false},
		{"fleet {", terminal.ExitError, false}} {
		if err := os.WriteFile(filepath.Join(d.files, "more.hcl"), []byte(test.more), 0o644); err != nil {
			t.Fatal(err)
		}
		out, errors := d.must(test.code, "validate", "--json", d.files)
		var got struct {
			Valid       bool
			Diagnostics config.Diagnostics
		}
		if err := json.Unmarshal(
			[]byte(out),
			&got,
		); err != nil || got.Valid != test.valid || got.Diagnostics.HasErrors() == test.valid ||
			errors != "" {
			t.Errorf("%q: %v\n%s%s", test.more, err, out, errors)
		}
	}
}

// Commands that change something, show text or go on for as long as they run.
var withoutJSON = map[string]bool{
	"init":                  true,
	"fmt":                   true,
	"serve":                 true,
	"completion":            true,
	"plugin mirror":         true,
	"plugin keygen":         true,
	"plugin new":            true,
	"plugin docs":           true,
	"plugin call":           true, // it prints nothing but JSON
	"token delete":          true,
	"drain":                 true,
	"instance adopt":        true,
	"instance replace":      true,
	"instance resolve":      true,
	"key delete":            true,
	"key rotate":            true,
	"reviewos apply":        true,
	"reviewos token create": true,
	"reviewos token delete": true,
}

func TestEveryCommandThatReadsHasJSON(t *testing.T) {
	walk((&app{}).root(), func(c *cobra.Command) {
		if !c.Runnable() || c.HasSubCommands() {
			return
		}
		name := strings.TrimPrefix(c.CommandPath(), "forgeyard-fleet ")
		if has := c.Flags().Lookup("json") != nil; has == withoutJSON[name] {
			t.Errorf("%s: --json is there: %v", name, has)
		}
	})
}

// A read that fails leaves standard output to those who parse it.
func TestFailedReadWritesOnlyToStandardError(t *testing.T) {
	d := newDesk(t)
	for _, args := range [][]string{
		{"status", "--json", "--dir", d.files}, {"list", "--json", "--dir", d.files},
		{"instance", "list", "--json", "--dir", d.files},
		{"instance", "show", "--json", "--dir", d.files, "x"}, {"plan", "--json", filepath.Join(d.files, "missing")},
		{"show", "--json", d.files},
	} {
		if out, errors := d.must(terminal.ExitError, args...); out != "" || !strings.HasPrefix(errors, "Error: ") {
			t.Errorf("%v says %q and %q", args, out, errors)
		}
	}
}
