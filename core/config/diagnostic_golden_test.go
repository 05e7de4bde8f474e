package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/config"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func source(t testing.TB, path string) config.Source {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return config.Source{Name: filepath.Base(path), Bytes: content}
}

var forgeyardBlock = regexp.MustCompile(`(?m)^forgeyard \{|^# forgeyard`)

// Every file in testdata/bad has one kind of fault; the golden file beside it
// is what the user reads. A file without a forgeyard block is added to
// testdata/base.hcl, which has no fault.
func TestBadFilesGiveGoldenMessages(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.hcl")
	if err != nil || len(files) < 200 {
		t.Fatalf("found %d bad files, %v", len(files), err)
	}
	place := regexp.MustCompile(`(?m)^  on [a-z0-9-]+\.hcl:[0-9]+:[0-9]+`)
	snippet := regexp.MustCompile(`(?m)^ +[0-9]+ \| .*\n +\| [\t ]*\^+`)
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".hcl")
		t.Run(name, func(t *testing.T) {
			bad := source(t, path)
			sources := []config.Source{bad}
			if !forgeyardBlock.Match(bad.Bytes) {
				sources = append(sources, source(t, "testdata/base.hcl"))
			}
			loaded, diagnostics := config.Load(sources, config.Variables{}, schemas{})
			if len(diagnostics) == 0 {
				t.Fatal("the file was accepted without a word")
			}
			if (loaded == nil) != diagnostics.HasErrors() {
				t.Errorf("loaded is %v with diagnostics %v", loaded, diagnostics)
			}
			var out strings.Builder
			if err := diagnostics.Render(&out, false); err != nil {
				t.Fatal(err)
			}
			got := out.String()
			for _, one := range diagnostics {
				if one.Summary == "" || one.Detail == "" {
					t.Errorf("%q has no advice: %q", one.Summary, one.Detail)
				}
			}
			if n := len(place.FindAllString(got, -1)); n != len(diagnostics) {
				t.Errorf("%d of %d diagnostics have file:line:column", n, len(diagnostics))
			}
			if n := len(snippet.FindAllString(got, -1)); n != len(diagnostics) {
				t.Errorf("%d of %d diagnostics have a marked snippet", n, len(diagnostics))
			}
			golden := strings.TrimSuffix(path, ".hcl") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(string(want), got); difference != "" {
				t.Errorf("the message changed (-want +got):\n%s", difference)
			}
		})
	}
}
