package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestUnknownCommandsAndFlagsSuggestTheRightOnes(t *testing.T) {
	for line, want := range map[string]string{
		"aply":           "unknown command \"aply\". Did you mean:\n  forgeyard-fleet apply",
		"plugin instal":  "unknown command \"instal\". Did you mean:\n  forgeyard-fleet plugin install",
		"plugin nothing": "unknown command \"nothing\". List the commands with:\n  forgeyard-fleet plugin --help",
		"pin":            "missing argument. Usage:\n  forgeyard-fleet pin INSTANCE [--for DURATION | --clear] [flags]",
		"pin one two": "invalid arguments [\"one\" \"two\"]. Usage:\n  forgeyard-fleet pin INSTANCE [--for DURATION | " +
			"--clear] [flags]",
		"list demo": "invalid arguments [\"demo\"]. Usage:\n  forgeyard-fleet list [flags]",
		"plugin docs aws --var region=eu-central-1": "--var and --var-file are valid only with --policy",
		"plugin docs aws --var-file no-such-file":   "--var and --var-file are valid only with --policy",
		"completion nosh": "invalid arguments [\"nosh\"]. Usage:\n  forgeyard-fleet completion " +
			"bash|zsh|fish|powershell [flags]",
		// What users of Terraform type.
		"apply -auto-approve": "unknown flag -auto-approve. Did you mean --auto-approve?",
		"plan -var a=b":       "unknown flag -var. Did you mean --var?",
		"plan -out=p":         "unknown flag -out. Did you mean --out?",
		"apply -out p": "unknown flag -out. A plan is saved by plan, and apply takes its file:\n  forgeyard-fleet " +
			"plan --out FILE\n  forgeyard-fleet apply FILE",
		"apply -target=fleet.a": "unknown flag -target. A plan covers all fleet files. To leave one fleet as it is, freeze " +
			"it first:\n  forgeyard-fleet freeze FLEET",
		"destroy": "unknown command \"destroy\". To remove fleets, delete their blocks from the files and " +
			"run:\n  forgeyard-fleet apply --prune",
		"state list": "unknown command \"state\". To see what was applied and what exists, run:\n  forgeyard-fleet " +
			"status\n  forgeyard-fleet instance list",
		"image rollout demo": "--pause, --resume or --skip-soak is required:\n  --pause: pause the rollout until it is " +
			"resumed\n  --resume: resume a rollout that was paused, halted or rolled back\n  --skip-soak: resume without " +
			"waiting for the canaries",
	} {
		var out, err strings.Builder
		a := &app{out: &out, err: &err, now: time.Now}
		if code := a.run(
			context.Background(),
			strings.Fields(line),
		); code != exitError || err.String() != "Error: "+want+"\n" ||
			out.String() != "" {
			t.Errorf("%s: status %d\ngot  %s%s\nwant %s", line, code, out.String(), err.String(), want)
		}
	}
}

func TestVersionFlagPrintsTheVersion(t *testing.T) {
	var out strings.Builder
	a := &app{out: &out, err: &out, now: time.Now, version: "1.2.3"}
	if code := a.run(
		context.Background(),
		[]string{"--version"},
	); code != exitDone ||
		out.String() != "forgeyard-fleet 1.2.3\n" {
		t.Errorf("exit code %d: %q", code, out.String())
	}
}

func TestHelpGroupsTheCommands(t *testing.T) {
	var out strings.Builder
	a := &app{out: &out, err: &out, now: time.Now}
	if code := a.run(context.Background(), []string{"--help"}); code != exitDone {
		t.Fatalf("exit code %d: %s", code, out.String())
	}
	at := 0
	for _, part := range []string{
		"Get started:\n", "\n  apply ", "\n  init ", "See the state and its reasons:\n", "\n  status ",
		"Change what is running:\n",
		"\n  cost-override ", "\n  scale ", "Provider plugins:\n", "\n  plugin ", "Administer:\n", "\n  help ", "\n  serve ",
		"\n  token ",
	} {
		next := strings.Index(out.String()[at:], part)
		if next < 0 {
			t.Fatalf("%q isn't in its place in the help:\n%s", part, out.String())
		}
		at += next
	}
	if strings.Contains(out.String(), "Additional Commands") {
		t.Errorf("a command has no group:\n%s", out.String())
	}
}

func TestNoColorTurnsColoursOff(t *testing.T) {
	unset := func(string) (string, bool) { return "", false }
	set := func(name string) (string, bool) { return "1", name == "NO_COLOR" }
	for _, test := range []struct {
		name   string
		a      *app
		colour bool
	}{
		{"no terminal", &app{lookupEnv: unset}, false},
		{"NO_COLOR", &app{outTerminal: true, lookupEnv: set}, false},
		{"a terminal", &app{outTerminal: true, lookupEnv: unset}, true},
	} {
		if page := test.a.page(); page.Color != test.colour {
			t.Errorf("%s: colours %t, want %t", test.name, page.Color, test.colour)
		}
	}
}
