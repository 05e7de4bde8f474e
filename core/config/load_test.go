package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// mustLoad loads text on top of testdata/base.hcl.
func mustLoad(t testing.TB, text string, variables config.Variables) *config.Loaded {
	t.Helper()
	loaded, diagnostics := load(t, text, variables)
	if diagnostics.HasErrors() {
		t.Fatal(rendered(t, diagnostics))
	}
	return loaded
}

func load(t testing.TB, text string, variables config.Variables) (*config.Loaded, config.Diagnostics) {
	t.Helper()
	sources := []config.Source{source(t, "testdata/base.hcl"), {Name: "main.hcl", Bytes: []byte(text)}}
	return config.Load(sources, variables, schemas{})
}

func rendered(t testing.TB, diagnostics config.Diagnostics) string {
	t.Helper()
	var out strings.Builder
	if err := diagnostics.Render(&out, false); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func fleetNamed(t testing.TB, definition fleet.Definition, name string) fleet.RunnerFleet {
	t.Helper()
	i := slices.IndexFunc(definition.Fleets, func(f fleet.RunnerFleet) bool { return f.Address.Name() == name })
	if i < 0 {
		t.Fatalf("the definition has no fleet %q", name)
	}
	return definition.Fleets[i]
}

func TestFileWithEverythingBecomesDefinition(t *testing.T) {
	everything := source(t, "testdata/good/everything.hcl")
	loaded, diagnostics := config.Load([]config.Source{everything}, config.Variables{}, schemas{})
	if len(diagnostics) > 0 {
		t.Fatal(rendered(t, diagnostics))
	}
	got, err := json.MarshalIndent(loaded.Definition, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	golden := filepath.FromSlash("testdata/good/everything.json")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(string(want), string(got)); difference != "" {
		t.Errorf("the definition changed (-want +got):\n%s", difference)
	}
}

func TestOrderOfFilesAndBlocksDoesNotMatter(t *testing.T) {
	base := source(t, "testdata/base.hcl")
	a := config.Source{
		Name: "a.hcl",
		Bytes: []byte(
			"removed {\n  from = fleet.y\n}\n\nremoved {\n  from = fleet.x\n}\n\nprovider \"cloud\" \"a\" {\n  region = " +
				"\"eu-2\"\n}\n",
		),
	}
	first, diagnostics := config.Load([]config.Source{a, base}, config.Variables{}, schemas{})
	if diagnostics.HasErrors() {
		t.Fatal(rendered(t, diagnostics))
	}
	a.Name = "z.hcl"
	second, diagnostics := config.Load([]config.Source{base, a}, config.Variables{}, schemas{})
	if diagnostics.HasErrors() {
		t.Fatal(rendered(t, diagnostics))
	}
	if difference := cmp.Diff(first.Definition, second.Definition); difference != "" {
		t.Error(difference)
	}
	if want := []fleet.FleetAddress{"fleet.x", "fleet.y"}; !slices.Equal(first.Definition.Removed, want) {
		t.Errorf("removed is %v, want %v", first.Definition.Removed, want)
	}
}

func TestImageReferences(t *testing.T) {
	const image = `
image "odd" {
  digest    = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
  bootstrap = "cloud-init"
  refs      = { cloud = "of the plugin", "cloud.main" = "of the block" }
}

provider "cloud" "other" {
  region = "eu-2"
}

fleet "exact" {
  capacity_class = capacity_class.standard
  image          = image.odd
  provider       = provider.cloud.main
  instance { types = [] }
  scaling {
    min = 1
    max = 1
  }
}

fleet "by-plugin" {
  capacity_class = capacity_class.standard
  image          = image.odd
  provider       = provider.cloud.other
  instance { types = [] }
  scaling {
    min = 1
    max = 1
  }
}
`
	definition := mustLoad(t, image, config.Variables{}).Definition
	if got := fleetNamed(t, definition, "exact").Image.Ref; got != "of the block" {
		t.Errorf("the provider block's own reference must win, got %q", got)
	}
	if got := fleetNamed(t, definition, "by-plugin").Image.Ref; got != "of the plugin" {
		t.Errorf("without its own, the plugin's reference serves, got %q", got)
	}
}

func TestDefaults(t *testing.T) {
	steady := fleetNamed(t, mustLoad(t, "", config.Variables{}).Definition, "steady")
	if steady.Timeouts != fleet.DefaultTimeouts() {
		t.Errorf("timeouts: %+v", steady.Timeouts)
	}
	if steady.Admission.JobIsolation != fleet.JobIsolationRequired {
		t.Errorf("job isolation: %q", steady.Admission.JobIsolation)
	}
	if got, want := string(steady.Instance), `{"cpus":2,"spot":false,"types":["m1"]}`; got != want {
		t.Errorf("instance: %s, want %s", got, want)
	}
	if got, want := string(steady.Immutable), `{"cpus":2,"types":["m1"]}`; got != want {
		t.Errorf("immutable: %s, want %s", got, want)
	}
	if got, want := steady.Class.Resources,
		(fleet.ResourceCapacity{CPUMilli: 4000, MemoryBytes: 16 << 30, Slots: 1}); !cmp.Equal(
		got,
		want,
	) {
		t.Errorf("resources: %+v", steady.Class.Resources)
	}
}

func TestAllErrorsComeAtOnce(t *testing.T) {
	broken := []config.Source{
		{Name: "a.hcl", Bytes: []byte("locals {\n  a = \n}\n")},
		{Name: "b.hcl", Bytes: []byte("fleet \"x\" {\n")},
	}
	_, diagnostics := config.Load(broken, config.Variables{}, schemas{})
	files := map[string]bool{}
	for _, one := range diagnostics {
		files[one.Range.File] = true
	}
	if !files["a.hcl"] || !files["b.hcl"] {
		t.Errorf("want errors of both files, got %v", diagnostics)
	}
	_, diagnostics = load(t, "image \"a\" {\n}\n\nlocals {\n  x = nope.y\n}\n\nflet \"x\" {\n}\n", config.Variables{})
	if len(diagnostics) != 5 {
		t.Errorf("want 5 errors of three blocks, got %d:\n%s", len(diagnostics), rendered(t, diagnostics))
	}
}

func TestErrorsAreNotRepeatedByDependents(t *testing.T) {
	_, diagnostics := load(t, `
locals {
  a = local.missing
  b = "${local.a}x"
}

provider "cloud" "other" {
  region = local.b
}
`, config.Variables{})
	if len(diagnostics) != 1 || !strings.Contains(diagnostics[0].Summary, "missing") {
		t.Errorf("want the one error, got:\n%s", rendered(t, diagnostics))
	}
}

func TestNullMeansLeftOut(t *testing.T) {
	definition := mustLoad(t, `
variable "port" {
  type    = number
  default = null
}

fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.cloud.main
  image          = null

  instance {
    types = ["m1"]
    cpus  = var.port
    boot  = null
  }

  scaling {
    min = 1
    max = 1
  }
}
`, config.Variables{}).Definition
	if got, want := string(
		fleetNamed(t, definition, "x").Instance,
	), `{"cpus":2,"spot":false,"types":["m1"]}`; got != want {
		t.Errorf("instance: %s, want %s", got, want)
	}
	_, diagnostics := load(t, "provider \"cloud\" \"x\" {\n  region = null\n}\n", config.Variables{})
	if len(diagnostics) != 1 || !strings.Contains(diagnostics[0].Summary, "can't be null") {
		t.Errorf("a required attribute can't be null:\n%s", rendered(t, diagnostics))
	}
}

func TestLiteralSecretIsNotShown(t *testing.T) {
	_, diagnostics := load(
		t,
		"provider \"cloud\" \"x\" {\n  region = \"a\"\n  token  = \"hunter2\"\n}\n",
		config.Variables{},
	)
	if got := rendered(t, diagnostics); !diagnostics.HasErrors() || strings.Contains(got, "hunter2") {
		t.Errorf("the literal secret must be refused and not be shown:\n%s", got)
	}
}

func TestRequirementsNeedNoSchemaAndNoVariables(t *testing.T) {
	requirements, diagnostics := config.LoadRequirements([]config.Source{{Name: "main.hcl", Bytes: []byte(`
forgeyard {
  required_version = ">= 0.2"
  installation     = "acme-ci"

  manager {
    listen = var.unknown
  }

  required_plugins {
    zeta = { version = "~> 1.0" }
    beta = { env = ["B", "A", "A"] }
  }
}

provider "zeta" "x" {
  anything = nope
}
`)}})
	if len(diagnostics) > 0 {
		t.Fatal(rendered(t, diagnostics))
	}
	if requirements.Installation != "acme-ci" {
		t.Errorf("installation %q", requirements.Installation)
	}
	want := []fleet.PluginRequirement{{Name: "beta", Env: []string{"A", "B"}}, {Name: "zeta", Version: "~> 1.0"}}
	if difference := cmp.Diff(want, requirements.Plugins); difference != "" {
		t.Error(difference)
	}
	for running, fits := range map[string]bool{"0.2.0": true, "0.2.1-dev": true, "0.2.0-dev": true, "0.1.9": false,
		"devel": false} {
		if got := requirements.CheckVersion(running); (len(got) == 0) != fits {
			t.Errorf("version %s: %v", running, got)
		}
	}
	got := rendered(t, requirements.CheckVersion("0.1.9"))
	if !strings.Contains(got, "main.hcl:3:22") || !strings.Contains(got, "0.1.9") {
		t.Errorf("the message must show the line and both versions:\n%s", got)
	}
}

func TestReadDirTakesFleetFilesOnly(t *testing.T) {
	dir := t.TempDir()
	if _, err := config.ReadDir(dir); err == nil || !strings.Contains(err.Error(), "init") {
		t.Errorf("an empty directory: %v", err)
	}
	for _, name := range []string{"b.hcl", "a.hcl", config.LockFileName, "notes.txt", ".hidden.hcl"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("# "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.hcl"), 0o755); err != nil {
		t.Fatal(err)
	}
	sources, err := config.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range sources {
		names = append(names, filepath.Base(one.Name))
	}
	if want := []string{"a.hcl", "b.hcl"}; !slices.Equal(names, want) {
		t.Errorf("read %v, want %v", names, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "c.hcl"), make([]byte, config.MaxSourceBytes), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := config.ReadDir(dir); err == nil || !strings.Contains(err.Error(), "10 MiB") {
		t.Errorf("too many bytes: %v", err)
	}
}

// The worst ten megabytes for a parser that keeps a hundred bytes for each
// symbol.
func TestLargeFilesUseBoundedMemory(t *testing.T) {
	for name, line := range map[string]string{
		"brackets":          "[",
		"closing brackets":  "]",
		"commas":            "a=[,,,,,,,,,,,,,,,,,,,,,]\n",
		"attributes":        "a = 1\n",
		"blocks":            "a \"b\" {}\n",
		"a long comment":    "# nothing to see here, move along\n",
		"a heredoc of text": "text and text, and some more of it\n",
		"quotes":            "\"${\"${",
		"zero bytes":        "\x00",
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(line, config.MaxSourceBytes/len(line))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, diagnostics := config.Load([]config.Source{{Name: "big.hcl", Bytes: []byte(text)}}, config.Variables{}, schemas{})
			runtime.ReadMemStats(&after)
			if !diagnostics.HasErrors() || len(diagnostics) > 501 {
				t.Errorf("got %d diagnostics", len(diagnostics))
			}
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 500 {
				t.Errorf("allocated %d MiB in all", allocated)
			}
		})
	}
}

// Locals that double each other, the "billion laughs".
func TestSelfDoublingValueIsStopped(t *testing.T) {
	text := "locals {\n  a0 = \"0123456789\"\n"
	for i := range 40 {
		text += "  a" + string(
			rune('0'+(i+1)/10),
		) + string(
			rune('0'+(i+1)%10),
		) + " = \"${local.PREVIOUS}${local.PREVIOUS}${local.PREVIOUS}${local.PREVIOUS}\"\n"
		previous := "a0"
		if i > 0 {
			previous = "a" + string(rune('0'+i/10)) + string(rune('0'+i%10))
		}
		text = strings.ReplaceAll(text, "PREVIOUS", previous)
	}
	_, diagnostics := load(t, text+"}\n", config.Variables{})
	if len(diagnostics) != 1 || !strings.Contains(diagnostics[0].Summary, "too large") {
		t.Errorf("want one error:\n%s", rendered(t, diagnostics))
	}
}

func TestUnits(t *testing.T) {
	timeouts := func(text string) (time.Duration, bool) {
		loaded, diagnostics := load(t, `
fleet "x" {
  capacity_class = capacity_class.standard
  provider       = provider.bare.rack
  scaling {
    min = 1
    max = 1
  }
  timeouts { boot = "`+text+`" }
}
`, config.Variables{})
		if diagnostics.HasErrors() {
			return 0, false
		}
		return fleetNamed(t, loaded.Definition, "x").Timeouts.Boot, true
	}
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "2d": 48 * time.Hour, "1.5h": 90 * time.Minute,
		"250ms": 250 * time.Millisecond,
		"":      -1, "5": -1, "10 m": 10 * time.Minute, "10x": -1, "m": -1, "1h-5m": -1, "99999999999h": -1, "NaN": -1,
		"inf": -1, "1e3s": -1,
	} {
		got, ok := timeouts(text)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q gave %v (%t), want %v", text, got, ok, want)
		}
	}
}

func TestManyWarningsAreNotAnError(t *testing.T) {
	var text strings.Builder
	for i := range 600 {
		fmt.Fprintf(&text, "provider \"cloud\" \"p%d\" {\n  region = \"a\"\n  zone   = \"b\"\n}\n\n", i)
	}
	loaded, diagnostics := load(t, text.String(), config.Variables{})
	if loaded == nil || len(diagnostics) != 501 {
		t.Errorf("loaded %t with %d diagnostics", loaded != nil, len(diagnostics))
	}
}
