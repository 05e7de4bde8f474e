package config_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/config"
)

// manyFleets is a file of fleets as people write them.
func manyFleets(count int) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, `
fleet "team-%d" {
  capacity_class = capacity_class.standard
  image          = image.ubuntu
  provider       = provider.cloud.main

  instance {
    types = ["m1", "m2"]
  }

  scaling {
    min = 1
    max = 20
  }

  runner {
    max_jobs = 1
  }
}
`, i)
	}
	return text.String()
}

const eachOfMany = `
locals {
  digits = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
  keys   = flatten([for a in local.digits : [for b in local.digits : [for c in local.digits : [for d in local.digits : "t${a}${b}${c}${d}"]]]])
}

fleet "team" {
  for_each       = toset(local.keys)
  capacity_class = capacity_class.standard
  image          = image.ubuntu
  provider       = provider.cloud.main

  instance {
    types   = ["m1", "m2"]
    network = upper("net-${each.key}")
  }

  scaling {
    min = 1
    max = 20
  }
}
`

func chainOfLocals(count int, end string) string {
	var text strings.Builder
	text.WriteString("locals {\n")
	for i := range count {
		fmt.Fprintf(&text, "  a%d = local.a%d\n", i, i+1)
	}
	fmt.Fprintf(&text, "  a%d = %s\n}\n", count, end)
	return text.String()
}

// Whatever a file holds, it costs less than 500 MiB in all, and ends in its
// result or in an error that says what is wrong.
func TestHostileFilesUseBoundedMemory(t *testing.T) {
	for name, one := range map[string]struct{ text, want string }{
		"10,000 fleets":              {manyFleets(10_000), ""},
		"10,000 fleets of one block": {eachOfMany, ""},
		"brackets 90 deep": {"locals {\n  a = " + strings.Repeat("[", 90) + strings.Repeat("]", 90) + "\n}\n",
			""},
		"brackets 1,000 deep": {
			"locals {\n  a = " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "\n}\n", "too deep"},
		"blocks 100 deep": {strings.Repeat("a {\n", 100) + strings.Repeat("}\n", 100), "Unexpected block"},
		"texts 100 deep": {
			"locals {\n  a = " + strings.Repeat("\"${", 99) + "1" + strings.Repeat("}\"", 99) + "\n}\n", ""},
		"a circle of 100 locals":    {chainOfLocals(100, "local.a0"), "in a cycle"},
		"a circle of 10,000 locals": {chainOfLocals(10_000, "local.a0"), "too deeply"},
		"a chain of 150 locals":     {chainOfLocals(150, "1"), ""},
		"a block of 10 MiB": {"locals {\n" + strings.Repeat("  a = [1, 2, 3, 4, 5, 6, 7, 8]\n", 300_000) + "}\n",
			"too large"},
		"10 MiB of comments":           {strings.Repeat("# nothing to see here, move along and on\n", 240_000), "too large"},
		"10 MiB of small blocks":       {strings.Repeat("a \"b\" {\n}\n", 1_000_000), "too large"},
		"as many blocks as may be":     {strings.Repeat("a \"b\" {\n}\n", 110_000), "Unexpected block"},
		"as many attributes as may be": {strings.Repeat("locals {\n  a = b\n}\n", 99_000), "declared twice"},
		"as large a block as may be": {"locals {\n" + strings.Repeat("  a = [1, 2, 3, 4, 5, 6, 7, 8]\n", 4_500) + "}\n",
			"redefined"},
		"one that is never closed": {"fleet \"x\" {\n" + manyFleets(2000), "Unclosed"},
		"here-documents":           {strings.Repeat("locals {\n  a = <<EOT\n}\nEOT\n}\n", 50_000), "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			sources := []config.Source{source(t, "testdata/base.hcl"), {Name: "main.hcl", Bytes: []byte(one.text)}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			loaded, diagnostics := config.Load(sources, config.Variables{}, schemas{})
			runtime.ReadMemStats(&after)
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 500 {
				t.Errorf("allocated %d MiB in all", allocated)
			} else {
				t.Logf("allocated %d MiB in all", allocated)
			}
			found := false
			for _, diagnostic := range diagnostics {
				found = found || strings.Contains(diagnostic.Summary, one.want)
			}
			if (loaded != nil) != (one.want == "") || one.want != "" && !found {
				t.Errorf(
					"loaded %t, want %q, got %d: %v",
					loaded != nil,
					one.want,
					len(diagnostics),
					diagnostics[:min(3, len(diagnostics))],
				)
			}
		})
	}
}

func BenchmarkLoadTenThousandFleets(b *testing.B) {
	for name, text := range map[string]string{"written": manyFleets(10_000), "for_each": eachOfMany} {
		sources := []config.Source{source(b, "testdata/base.hcl"), {Name: "main.hcl", Bytes: []byte(text)}}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if loaded, diagnostics := config.Load(sources, config.Variables{}, schemas{}); loaded == nil {
					b.Fatal(diagnostics)
				}
			}
		})
	}
}

func BenchmarkDiffTenThousandFleets(b *testing.B) {
	old := mustLoad(b, eachOfMany, config.Variables{}).Definition
	new := mustLoad(b, strings.Replace(eachOfMany, "max = 20", "max = 21", 1), config.Variables{}).Definition
	b.ReportAllocs()
	for b.Loop() {
		if changes := config.Diff(old, new); len(changes) != 10_000 {
			b.Fatal(len(changes))
		}
	}
}
