package main

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/argument"
	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
	"github.com/forgeyard/forgeyard-fleet/core/api"
	"github.com/forgeyard/forgeyard-fleet/core/problem"
)

// schema is what this test reads of docs/openapi.json.
type schema struct {
	Ref        string            `json:"$ref"`
	Properties map[string]schema `json:"properties"`
}

type document struct {
	Paths map[string]map[string]struct {
		UseCase     string `json:"x-use-case"`
		RequestBody struct {
			Content map[string]struct {
				Schema schema `json:"schema"`
			} `json:"content"`
		} `json:"requestBody"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

// sentBy are the commands that send the request of a route, where its use case has
// another name. Those of plan and apply send files, of which no one typed a value.
var sentBy = map[string]string{
	"fleet scale":    "scale",
	"instance pin":   "pin",
	"instance drain": "drain",
	"cost override":  "cost-override",
	"token join":     "token create",
	"plan":           "",
	"apply":          "",
}

// A value that a manager refuses was typed as a flag or an argument, and by that name
// the refusal is told. A member that is added to a request later needs a flag, too.
func TestEveryRequestMemberHasAFlagOrArgument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	told := 0
	for at, methods := range doc.Paths {
		for _, operation := range methods {
			command, renamed := sentBy[operation.UseCase]
			body, sends := operation.RequestBody.Content["application/json"]
			if !sends || renamed && command == "" {
				continue
			}
			if !renamed {
				command = operation.UseCase
			}
			c, rest, err := (&app{}).root().Find(strings.Fields(command))
			if err != nil || len(rest) > 0 || !c.HasParent() {
				t.Errorf("%s: no command %q sends it", at, command)
				continue
			}
			for member := range doc.Components.Schemas[path.Base(body.Schema.Ref)].Properties {
				if member == "$schema" || member == "force" || member == "remove" {
					continue // a yes or no can't be wrong
				}
				if word, _ := argument.TypedAs(c, "body."+member); word == "" {
					t.Errorf("%s: no flag or argument of %s is known to be body.%s", at, command, member)
				}
				told++
			}
		}
	}
	if told < 20 {
		t.Errorf("only %d members were found", told)
	}
}

func TestRefusedValueIsShownAsItWasTyped(t *testing.T) {
	for _, test := range []struct {
		command, location, message, want string
	}{
		{"token create", "body.permissions", "expected array length >= 1",
			"--permission: needs at least 1 (permissions, repeated "},
		{"token create", "body.fleets[3]", "expected string", "--fleet: expected string (limit the token to this fleet"},
		{"token create", "body.name", "expected length <= 63", "NAME: must be at most 63 characters"},
		{"token create", "body.host", "expected length <= 253", "--join: must be at most 253 characters (claim this HOST"},
		{"pin", "path.id", "expected length <= 512", "INSTANCE: must be at most 512 characters"},
		{"image rollout", "path.id", "expected length <= 512", "FLEET|IMAGE: must be at most 512 characters"},
		{"freeze", "path.id", "expected length <= 512", "--provider: must be at most 512 characters"},
		{"reservation create", "body", "expected required property capacity_class to be present", "--class: is required"},
		{"scale", "body.for_seconds", "expected number >= 1", "--for: must be at least 1 "},
		{"events", "query.limit", "expected number <= 1000", "--limit: must be at most 1000 "},
		{"apply", "body.submission.sources", "expected array",
			"the request isn't valid; body.submission.sources: expected array"},
	} {
		c, _, err := (&app{}).root().Find(strings.Fields(test.command))
		if err != nil {
			t.Fatal(err)
		}
		if test.command != "freeze" { // whose --provider was given, and no FLEET
			if err := c.ParseFlags([]string{"word"}); err != nil {
				t.Fatal(err)
			}
		}
		refusal := &api.Problem{
			Problem: problem.Problem{
				Detail: "the request isn't valid",
				Fields: []problem.Field{{Location: test.location, Message: test.message}},
			},
		}
		if got := argument.AsTyped(c, refusal).Error(); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s\n%s\nwant %s", test.command, test.location, got, test.want)
		}
	}
}

func TestTokenWithoutPermissionsNamesFlagAndValues(t *testing.T) {
	d := newDesk(t)
	want := "Error: --permission is required for token \"nobody\"; valid values, repeated or separated by commas: " +
		"fleet.read, fleet.manage, "
	if _, said := d.must(terminal.ExitError, "token", "create", "nobody"); !strings.HasPrefix(said, want) {
		t.Errorf("it says %s", said)
	}
}

// status my-fleet, where my-fleet has the fleet files, said "no fleet files: .".
func TestADirectoryAsArgumentSuggestsDir(t *testing.T) {
	d := newDesk(t)
	d.must(terminal.ExitDone, "apply", "--auto-approve", d.files)
	t.Chdir(filepath.Dir(d.files)) // whose folder fleet has the files
	for command, takes := range map[string]string{"status": "FLEET", "explain": "FLEET", "drain": "INSTANCE",
		"instance show": "INSTANCE", "quarantine": "FLEET|INSTANCE|IMAGE"} {
		args := append(strings.Fields(command), "fleet")
		want := "Error: fleet is a directory, but " + command + " takes a " + takes +
			". To name the directory of the fleet files, use --dir fleet\n"
		if command == "quarantine" {
			args = append(args, "--auto-approve")
		}
		if _, said := d.must(terminal.ExitError, args...); said != want {
			t.Errorf("%v says %s", args, said)
		}
		delete(d.env, "FLEET_STATE_DIR") // the files here would have to name the installation
		if _, said := d.must(terminal.ExitError, args...); said != want {
			t.Errorf("without a state directory %v says %s", args, said)
		}
		d.env["FLEET_STATE_DIR"] = filepath.Join(filepath.Dir(d.files), "state")
	}
	if _, said := d.must(terminal.ExitError, "status", "elsewhere"); strings.Contains(said, "directory") {
		t.Errorf("status of no directory says %s", said)
	}
}

func TestListsOfAnUnknownFleetFail(t *testing.T) {
	d := newDesk(t)
	d.must(terminal.ExitDone, "apply", "--auto-approve", d.files)
	for _, line := range []string{"events --fleet nofleet", "events --json --fleet nofleet",
		"instance list --fleet nofleet", "instance list --all --fleet nofleet", "instance list --json --fleet nofleet"} {
		out, said := d.must(terminal.ExitError, strings.Fields(line)...)
		if out != "" ||
			said != "Error: fleet \"nofleet\" not found; no fleets exist. Add a fleet block and run:\n  "+
				"forgeyard-fleet apply\n" {
			t.Errorf("%s says %q and %q", line, out, said)
		}
	}
	d.must(terminal.ExitDone, "events")
}

// Every other order asks before it does what can't be taken back.
func TestKeysAreRotatedAndDeletedOnlyAfterAYes(t *testing.T) {
	d := newDesk(t)
	d.must(terminal.ExitDone, "apply", "--auto-approve", d.files)
	list := func() string { out, _ := d.must(terminal.ExitDone, "key", "list", "--json"); return out }
	before := list()
	for _, args := range [][]string{{"key", "rotate", "ownership"}, {"key", "delete", "x"}} {
		if code, out := d.run(
			t.Context(),
			strings.NewReader("no\n"),
			true,
			args...); code != terminal.ExitDeclined || !strings.Contains(out.String(), "This can't be undone.") ||
			!strings.Contains(out.String(), "Nothing was changed.") {
			t.Errorf("%v exits with %d:\n%s", args, code, out)
		}
		if _, said := d.must(terminal.ExitError, args...); !strings.Contains(said, "--auto-approve") {
			t.Errorf("%v without a terminal: %s", args, said)
		}
	}
	if after := list(); after != before {
		t.Errorf("the keys were\n%s\nand are\n%s", before, after)
	}
	d.must(terminal.ExitDone, "key", "rotate", "ownership", "--auto-approve")
	if list() == before {
		t.Error("the key is the old one")
	}
}
