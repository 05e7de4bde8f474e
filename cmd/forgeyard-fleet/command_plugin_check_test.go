package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/pluginauthor"
	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
)

// builtPlugins are the binaries by their folder in the repository.
var builtPlugins struct {
	sync.Mutex
	bin      string
	binaries map[string]string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if builtPlugins.bin != "" {
		os.RemoveAll(builtPlugins.bin)
	}
	os.Exit(code)
}

// pluginBinary builds the plugin in a folder of the repository, once, as the
// Makefile does.
func pluginBinary(t *testing.T, folder string) string {
	t.Helper()
	builtPlugins.Lock()
	defer builtPlugins.Unlock()
	if binary, built := builtPlugins.binaries[folder]; built {
		return binary
	}
	if builtPlugins.bin == "" {
		bin, err := os.MkdirTemp("", "ffbin")
		if err != nil {
			t.Fatal(err)
		}
		builtPlugins.bin, builtPlugins.binaries = bin, map[string]string{}
	}
	binary := filepath.Join(builtPlugins.bin, "forgeyard-plugin-"+filepath.Base(folder))
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	build.Dir = filepath.Join("..", "..", filepath.FromSlash(folder))
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", folder, err, out)
	}
	builtPlugins.binaries[folder] = binary
	return binary
}

// commandLine is the program with the environment of the test.
func commandLine(out, stderr *strings.Builder) *app {
	return &app{
		in:        strings.NewReader(""),
		out:       out,
		err:       stderr,
		lookupEnv: os.LookupEnv,
		environ:   os.Environ,
		now:       time.Now,
		version:   "0.0.0",
	}
}

// testFile writes the file of a plugin's test.
func testFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.hcl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkPlugin runs the command and gives its report.
func checkPlugin(t *testing.T, folder, text string, more ...string) (report pluginauthor.Report, code int) {
	t.Helper()
	var out, stderr strings.Builder
	a := commandLine(&out, &stderr)
	code = a.run(
		t.Context(),
		append([]string{"plugin", "test", pluginBinary(t, folder), "--config", testFile(t, text), "--json"}, more...),
	)
	if err := json.Unmarshal([]byte(out.String()), &report); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), stderr.String())
	}
	return report, code
}

func TestThePluginsOfThisRepositoryKeepEveryRule(t *testing.T) {
	for folder, text := range map[string]string{
		"plugins/local": fmt.Sprintf(`provider "local" "test" {
  root   = %q
  runner = "/bin/true"
}`, t.TempDir()),
		"plugins/manual": `provider "manual" "test" {
  host {
    name = "a"
  }
  host {
    name = "b"
  }
}

test {
  assets = ["a", "b"]

  platform {
    os   = "linux"
    arch = "x86_64"
  }
}`,
		"examples/plugin-process": fmt.Sprintf(`provider "process" "test" {
  root   = %q
  runner = "/bin/true"
}`, t.TempDir()),
	} {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			report, code := checkPlugin(t, folder, text, "--allow-create")
			if code != terminal.ExitDone || report.Failed != 0 || report.Passed < 25 {
				t.Errorf("exit code %d, %d passed", code, report.Passed)
			}
			for _, result := range report.Results {
				if result.Verdict == conformance.Fail {
					t.Errorf("%s: %s", result.Rule, result.Reason)
				}
			}
		})
	}
}

func TestAnOutageThatLooksLikeAnEmptyListIsFound(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	text := `provider "%s" "test" {
  root   = %q
  runner = "/bin/true"
}

test {
  outage {
    begin = ["mv", %q, %q]
    end   = ["mv", %q, %q]
  }
}`
	report, _ := checkPlugin(t, "plugins/local", fmt.Sprintf(text, "local", root, root, root+"-away", root+"-away", root))
	if verdict := verdictOf(report, "incomplete-list"); verdict != conformance.Pass {
		t.Errorf("incomplete-list: %s", verdict)
	}
}

// processFaults are the faults of the faulty plugin by the rule that each breaks.
var processFaults = map[string]string{
	"ends-with-its-host": "has-children",
	"stdout-silent":      "prints",
	"log-lines-parse":    "mumbles",
	"validate-offline":   "phones-home",
}

func TestEveryRuleThatTakesAProcessIsBrokenByAPlugin(t *testing.T) {
	for _, rule := range conformance.Rules() {
		if rule.Process && processFaults[rule.Name] == "" {
			t.Errorf("no broken plugin fails the rule %s", rule.Name)
		}
	}
	for rule, fault := range processFaults {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			report, code := checkPlugin(
				t,
				"plugin-sdk/conformance/internal/faultyplugin",
				fmt.Sprintf("provider \"faulty\" \"test\" {\n  fault = %q\n}\n", fault),
			)
			if code != terminal.ExitError {
				t.Errorf("exit code %d", code)
			}
			for _, result := range report.Results {
				if failed := result.Verdict == conformance.Fail; failed != (result.Rule == rule) {
					t.Errorf("where a plugin %s, the rule %s is %s: %s", fault, result.Rule, result.Verdict, result.Reason)
				}
			}
		})
	}
}

func TestPluginTestNamesTheRulesThatItSkipped(t *testing.T) {
	var out, stderr strings.Builder
	a := commandLine(&out, &stderr)
	root := t.TempDir()
	file := testFile(t, fmt.Sprintf("provider \"process\" \"test\" {\n  root = %q\n  runner = \"/bin/true\"\n}\n", root))
	if code := a.run(
		t.Context(),
		[]string{"plugin", "test", pluginBinary(t, "examples/plugin-process"), "--config", file},
	); code != terminal.ExitDone {
		t.Errorf("exit code %d\n%s", code, stderr.String())
	}
	for _, want := range []string{"PASS  validate-offline", "SKIP  creates",
		"it creates instances, which was not allowed", "Plugin process 0.1.0: ", " 0 failed",
		"Rules that create instances were skipped; pass --allow-create to check them."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
		t.Errorf("something was made: %v, %v", entries, err)
	}
}

func TestPluginTestReportsMistakesWithTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"instance {\n}\n":           "Found no provider blocks, want 1",
		"provider \"x\" \"t\" {\n}": `The plugin is called "faulty"`,
		"provider \"faulty\" \"t\" {\n  fualt = \"prints\"\n}":                       `Unexpected attribute "fualt"`,
		"provider \"faulty\" \"t\" {\n}\ntest {\n  asset = []\n}":                    `Unexpected attribute "asset"`,
		"provider \"faulty\" \"t\" {\n}\ntest {\n  outage {\n    begin = []\n  }\n}": `"begin" names no program`,
	} {
		var out, stderr strings.Builder
		a := commandLine(&out, &stderr)
		code := a.run(
			t.Context(),
			[]string{
				"plugin",
				"test",
				pluginBinary(t, "plugin-sdk/conformance/internal/faultyplugin"),
				"--config",
				testFile(t, text),
			},
		)
		if code != terminal.ExitError || !strings.Contains(stderr.String(), want) ||
			!strings.Contains(stderr.String(), "test.hcl:") {
			t.Errorf("exit code %d; %q is missing in\n%s", code, want, stderr.String())
		}
	}
}

func verdictOf(report pluginauthor.Report, rule string) conformance.Verdict {
	n := slices.IndexFunc(report.Results, func(r conformance.Result) bool { return r.Rule == rule })
	if n < 0 {
		return ""
	}
	return report.Results[n].Verdict
}
