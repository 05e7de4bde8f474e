package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/config"
)

// FuzzLoad looks for text that makes the loader panic, give neither a
// definition nor an error, or answer the same question in two ways.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/bad/*.hcl", "testdata/good/*.hcl", "testdata/base.hcl"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range files {
			if strings.HasPrefix(filepath.Base(path), "work-") {
				continue // each alone takes as long as a thousand others
			}
			content, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(content, "size=1")
		}
	}
	f.Add([]byte(variableFleet), "zones=[1,2]")
	base := source(f, "testdata/base.hcl")
	f.Fuzz(func(t *testing.T, text []byte, assignment string) {
		sources := []config.Source{base, {Name: "fuzz.hcl", Bytes: text}}
		variables := config.Variables{
			Assignments: []string{assignment},
			Environment: []string{"FLEET_VAR_size=" + assignment},
		}
		loaded, diagnostics := config.Load(sources, variables, schemas{})
		if (loaded == nil) != diagnostics.HasErrors() {
			t.Fatalf("loaded %v with %v", loaded, diagnostics)
		}
		again, same := config.Load(sources, variables, schemas{})
		if difference := cmp.Diff(diagnostics, same); difference != "" {
			t.Fatalf("the second load says something else:\n%s", difference)
		}
		if loaded != nil {
			if got := config.Diff(loaded.Definition, again.Definition); len(got) != 0 {
				t.Fatalf("the second load gives something else: %+v", got)
			}
		}
		var out strings.Builder
		if err := diagnostics.Render(&out, true); err != nil {
			t.Fatal(err)
		}
		config.LoadRequirements(sources)
	})
}

func BenchmarkLoadThousandFleets(b *testing.B) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, `
fleet "team-%d" {
  capacity_class = capacity_class.standard
  image          = image.ubuntu
  provider       = provider.cloud.main

  instance {
    types   = ["m1", "m2"]
    subnets = ["subnet-${local.zone}"]
    labels  = { team = "team-%d" }

    disk {
      size = 100
    }
  }

  scaling {
    min           = 0
    max           = 20
    scale_to_zero = true
  }

  runner {
    command  = ["/usr/bin/make", "test"]
    max_jobs = 1
  }
}
`, i, i)
	}
	text.WriteString("\nlocals {\n  zone = \"a\"\n}\n")
	sources := []config.Source{source(b, "testdata/base.hcl"), {Name: "many.hcl", Bytes: []byte(text.String())}}
	b.ReportAllocs()
	for b.Loop() {
		loaded, diagnostics := config.Load(sources, config.Variables{}, schemas{})
		if loaded == nil {
			b.Fatal(diagnostics)
		}
	}
}
