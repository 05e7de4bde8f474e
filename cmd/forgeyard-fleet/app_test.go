package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestWhatIsPrintedCannotSteerTheTerminal(t *testing.T) {
	var out strings.Builder
	a := &app{out: &out, now: time.Now}
	a.printf("%s\n", "host \x1b[5A\x1b[J\rgone\u009b\x7f\x9b\tRechner ☃")
	want := "host \\x1b[5A\\x1b[J\\rgone\\u009b\\x7f\uFFFD\tRechner ☃\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestATimeIsShownInTheZoneThatItNames(t *testing.T) {
	at := time.Date(2026, 11, 29, 19, 5, 33, 0, time.FixedZone("EST", -5*60*60))
	if got, want := moment(at), "2026-11-30 00:05:33 UTC"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWrongArgumentsAreAnsweredWithTheRightOnes(t *testing.T) {
	for line, want := range map[string]string{
		"aply":           `there is no command "aply"; there is: forgeyard-fleet apply`,
		"plugin instal":  `there is no command "instal"; there is: forgeyard-fleet plugin install`,
		"plugin nothing": `there is no command "nothing"; run: forgeyard-fleet plugin --help`,
		"unpin":          "an argument is missing; usage: forgeyard-fleet unpin INSTANCE [flags]",
		"unpin one two":  `the arguments ["one" "two"] don't fit; usage: forgeyard-fleet unpin INSTANCE [flags]`,
		"list demo":      `the arguments ["demo"] don't fit; usage: forgeyard-fleet list [flags]`,
		"plugin docs aws --var region=eu-central-1": "--var and --var-file are for --policy, which reads the fleet files; the reference has none of their values: add --policy, or leave them out",
		"plugin docs aws --var-file no-such-file":   "--var and --var-file are for --policy, which reads the fleet files; the reference has none of their values: add --policy, or leave them out",
		"completion nosh":                           `the arguments ["nosh"] don't fit; usage: forgeyard-fleet completion bash|zsh|fish|powershell [flags]`,
	} {
		var out, err strings.Builder
		a := &app{out: &out, err: &err, now: time.Now}
		if code := a.run(context.Background(), strings.Fields(line)); code != exitError || err.String() != "Error: "+want+"\n" || out.String() != "" {
			t.Errorf("%s: status %d\ngot  %s%s\nwant %s", line, code, out.String(), err.String(), want)
		}
	}
}
