package plans

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
)

var keyAgain = config.Variables{Assignments: []string{"key=another"}}

func applySaved(t *testing.T, m *installation, by string, p SavedPlan) (Receipt, error) {
	t.Helper()
	s, err := p.SubmissionWith(keyAgain)
	if err != nil {
		t.Fatal(err)
	}
	return m.Apply(as(t, access.LocalUser(by)), s, p.Plan.Approval)
}

func TestASavedPlanIsAppliedOnceAndTellsWhoDidIt(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	p := savedFrom(t, m, submitted())
	if _, err := applySaved(t, m, "bob", p); err != nil {
		t.Fatal(err)
	}
	if settings, err := m.Settings(t.Context()); err != nil || settings.Advertise != "https://fleet.example" {
		t.Errorf("what is applied isn't what was planned: %+v, %v", settings, err)
	}
	_, err := applySaved(t, m, "cyd", p)
	if _, ok := errors.AsType[*access.ConflictError](
		err,
	); !ok || !strings.Contains(err.Error(), "used already: bob applied it at ") ||
		!strings.Contains(err.Error(), "definition 1 ") {
		t.Errorf("the second use: %v", err)
	}
	records, err := m.Audit(as(t, access.LocalUser("ada")), 0)
	if err != nil || len(records) != 1 ||
		!strings.Contains(records[0].Detail, "by the plan "+p.Plan.Approval.Saved.ID+" that ada saved at ") {
		t.Errorf("the audit has %+v, %v", records, err)
	}
}

// Without a use that is stored, a plan that changes nothing could be applied
// again after its definition had come, gone, and come back.
func TestASavedPlanWithoutChangesIsUsedUpToo(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	if _, err := applySaved(t, m, "bob", savedFrom(t, m, submitted())); err != nil {
		t.Fatal(err)
	}
	nothing := savedFrom(t, m, submitted())
	if r, err := applySaved(t, m, "bob", nothing); err != nil || r.Changed {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := applySaved(t, m, "bob", nothing); err == nil || !strings.Contains(err.Error(), "used already") {
		t.Errorf("the second use: %v", err)
	}
	records, err := m.Audit(as(t, access.LocalUser("ada")), 0)
	if err != nil || len(records) != 2 ||
		records[0].Detail != "definition 1: it was current already"+nothing.Plan.Approval.origin() {
		t.Errorf("the audit has %+v, %v", records, err)
	}
}

func TestOfManyAppliesOfOneSavedPlanOneWins(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	p := savedFrom(t, m, submitted())
	results := make([]error, 5)
	var wait sync.WaitGroup
	for n := range results {
		wait.Go(func() { _, results[n] = applySaved(t, m, "bob", p) })
	}
	wait.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
		} else if !strings.Contains(err.Error(), "used already") {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("it was applied %d times", won)
	}
}

func TestASensitiveVariableIsGivenAgainAndNothingElseIs(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	p := savedFrom(t, m, submitted())
	for name, test := range map[string]struct {
		given config.Variables
		want  string // "": fine
	}{
		"as an assignment": {keyAgain, ""},
		"by the environment": {config.Variables{Environment: []string{"FLEET_VAR_key=x", "FLEET_VAR_host=elsewhere"}},
			""},
		"by a file with others": {
			config.Variables{Files: []config.Source{{Name: "f", Bytes: []byte("host = \"elsewhere\"\nkey = \"x\"\n")}}}, ""},
		"not at all": {config.Variables{}, "this one needs key; give each again with --var NAME=…"},
		"with another of a plan": {config.Variables{Assignments: []string{"key=x", "host=elsewhere"}},
			"--var host is none of its sensitive ones, which are all that it takes (key)"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := p.SubmissionWith(test.given)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Fatalf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			fresh, err := m.Plan(as(t, access.LocalUser("ada")), s)
			if err != nil {
				t.Fatal(err)
			}
			if fresh.Definition != p.Plan.Definition {
				t.Error("the files mean something else than when they were planned")
			}
		})
	}
}

// Anyone who changes a plan file's sources can't make an apply do what it doesn't
// show.
func TestASavedPlanWithOtherFilesIsRefused(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	p := savedFrom(t, m, submitted())
	p.Submission.Variables.Assignments = []string{"host=attacker.example"}
	_, err := applySaved(t, m, "bob", p)
	if _, ok := errors.AsType[*StaleError](err); !ok || !strings.Contains(err.Error(), "something else than it showed") {
		t.Errorf("%v", err)
	}
	p.Plan.Approval.Saved.Changes = changesDigest(nil)
	if _, err := applySaved(t, m, "bob", p); err == nil {
		t.Error("it was applied")
	}
	if _, found, err := m.Store.Definition(t.Context()); err != nil || found {
		t.Errorf("something was applied: %v, %v", found, err)
	}
}

func TestAPlanOfAnInstallationOfTheSameNameIsRefused(t *testing.T) {
	here, there := open(t, workspacetest.Options(t)), open(t, workspacetest.Options(t))
	defer here.Close()
	defer there.Close()
	_, err := applySaved(t, there, "bob", savedFrom(t, here, submitted()))
	if _, ok := errors.AsType[*access.InvalidError](
		err,
	); !ok ||
		!strings.Contains(err.Error(), `another installation that is called "demo", too`) {
		t.Errorf("%v", err)
	}
}

func TestAStalePlanNamesTheApplyThatItDisagreesWith(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	if _, err := applySaved(t, m, "ada", savedFrom(t, m, submitted())); err != nil {
		t.Fatal(err)
	}
	mine, theirs := submitted(), submitted()
	mine.Variables.Assignments = []string{"host=mine.example", "key=x"}
	theirs.Variables.Assignments = []string{"host=theirs.example", "key=x"}
	p, other := savedFrom(t, m, mine), savedFrom(t, m, theirs)
	if _, err := applySaved(t, m, "bob", other); err != nil {
		t.Fatal(err)
	}
	_, err := applySaved(t, m, "ada", p)
	stale, ok := errors.AsType[*StaleError](err)
	if !ok || stale.By != "bob" || stale.Serial != 2 {
		t.Fatalf("%v", err)
	}
	want := []config.Change{{Action: config.Modify, Address: "forgeyard", Attributes: []config.AttributeChange{
		{Path: "manager.advertise", Old: `"https://fleet.example"`, New: `"https://theirs.example"`}}}}
	if diff := cmp.Diff(want, stale.Changes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(err.Error(), "bob applied definition 2 at ") ||
		!strings.Contains(err.Error(), "change forgeyard (manager.advertise)") {
		t.Errorf("%v", err)
	}
	// A plan that was refused is still good for who wants to see it refused again.
	if _, again := applySaved(t, m, "ada", p); again == nil || again.Error() != err.Error() {
		t.Errorf("the second time: %v", again)
	}
}
