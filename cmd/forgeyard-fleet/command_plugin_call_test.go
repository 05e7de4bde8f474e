package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
)

func TestPluginCallMakesAndRemovesOneInstance(t *testing.T) {
	file := testFile(t,
		fmt.Sprintf("provider \"local\" \"test\" {\n  root   = %q\n  runner = \"/bin/true\"\n}\n", t.TempDir()))
	binary := pluginBinary(t, "plugins/local")
	call := func(want int, args ...string) (out, said string) {
		t.Helper()
		var stdout, stderr strings.Builder
		a := commandLine(&stdout, &stderr)
		args = append([]string{"plugin", "call", binary, args[0], "--config", file}, args[1:]...)
		if code := a.run(t.Context(), args); code != want {
			t.Fatalf("%v ends with %d, want %d\n%s%s", args, code, want, stdout.String(), stderr.String())
		}
		return stdout.String(), stderr.String()
	}
	type resource struct{ ID, Key, Fleet string }
	resourceOf := func(line string) resource {
		var answer struct {
			Outcome   string
			Resource  resource
			Resources []resource
		}
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if len(answer.Resources) > 0 {
			return answer.Resources[0]
		}
		return answer.Resource
	}

	if _, said := call(terminal.ExitError, "provision"); !strings.Contains(said, "--allow-create") {
		t.Errorf("without leave it says %s", said)
	}
	if out, _ := call(terminal.ExitDone, "inspect"); strings.Contains(out, `"id"`) {
		t.Errorf("before, it lists %s", out)
	}
	out, _ := call(terminal.ExitDone, "provision", "--allow-create")
	made := resourceOf(out)
	if made.ID == "" || made.Key == "" || made.Fleet != "debug" {
		t.Fatalf("it makes %s", out)
	}
	if out, _ := call(terminal.ExitDone, "inspect", "--key", made.Key); resourceOf(out).ID != made.ID {
		t.Errorf("then it lists %s, want %s", out, made.ID)
	}
	if out, _ := call(terminal.ExitDone, "inspect", "--installation", "another"); strings.Contains(out, made.ID) {
		t.Errorf("for another installation it lists %s", out)
	}
	if out, _ := call(terminal.ExitDone, "terminate", "--key", made.Key, "--id", made.ID); !strings.Contains(out,
		"OUTCOME_") {
		t.Errorf("the removal is answered with %s", out)
	}
	if _, said := call(terminal.ExitDone, "inspect", "--wait"); !strings.Contains(said, "dlv attach ") {
		t.Errorf("with --wait it says %s", said)
	}
	for args, want := range map[string]string{
		"list": "valid: inspect, offers", "terminate": "--key KEY, --id ID", "offers": `doesn't serve "market"`,
		"check": `doesn't serve "check"`,
	} {
		if _, said := call(terminal.ExitError, args); !strings.Contains(said, want) {
			t.Errorf("%s says %s, want %q", args, said, want)
		}
	}
}

func TestPluginTestTakesRulesCountAndProxy(t *testing.T) {
	root := t.TempDir()
	text := fmt.Sprintf("provider \"local\" \"test\" {\n  root   = %q\n  runner = \"/bin/true\"\n}\n\ntest {\n  %s\n}\n",
		root, "%s")
	report, code := checkPlugin(t, "plugins/local", fmt.Sprintf(text, `count = ["sh", "-c", "ls `+root+` | wc -l"]`),
		"--allow-create", "--rule", "echoes", "--rule", "several-listed")
	var names []string
	for _, result := range report.Results {
		names = append(names, result.Rule)
	}
	want := "schema-valid configures offers-good echoes several-listed nothing-left"
	if got := strings.Join(names, " "); got != want || code != terminal.ExitDone {
		t.Errorf("exit code %d: %s; want %s", code, got, want)
	}
	for settings, want := range map[string]string{
		"proxy {\n    attribute = \"endpoint\"\n  }": "the provider block has no text there",
		"proxy {\n    attribute = \"runner\"\n  }":   "is not a URL with a host",
		"count = [\"echo\", \"many\"]\n":             "",
		"page_size = 0\n":                            "page_size",
	} {
		var out, stderr strings.Builder
		code := commandLine(&out, &stderr).run(t.Context(), []string{"plugin", "test", pluginBinary(t, "plugins/local"),
			"--config", testFile(t, fmt.Sprintf(text, settings))})
		if want == "" && code != terminal.ExitDone ||
			want != "" && (code != terminal.ExitError || !strings.Contains(stderr.String(), want)) {
			t.Errorf("%s: exit code %d, %s", settings, code, stderr.String())
		}
	}
}
