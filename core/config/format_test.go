package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/config"
)

func TestFormat(t *testing.T) {
	for name, one := range map[string]struct{ text, want string }{
		"indents and aligns": {
			"fleet \"x\" {\nimage=image.a\n  capacity_class   =  capacity_class.b\n\n\tscaling {\n min=1\n max = 2\n}\n}",
			"fleet \"x\" {\n  image          = image.a\n  capacity_class = capacity_class.b\n\n  scaling {\n    min = 1\n    " +
				"max = 2\n  }\n}\n"},
		"keeps comments": {"# one\na=1 # two\n// three\nbb=2 /* four */\n",
			"# one\na = 1 # two\n// three\nbb = 2 /* four */\n"},
		"keeps a text of lines":        {"a=<<EOT\n  x\n    y\nEOT\n", "a = <<EOT\n  x\n    y\nEOT\n"},
		"keeps one-line blocks":        {"scope   { tenant=\"acme\" }\n", "scope { tenant = \"acme\" }\n"},
		"ends with one line break":     {"a = 1\n\n\n", "a = 1\n"},
		"leaves an empty file empty":   {"\n \n", ""},
		"keeps windows line breaks":    {"a = 1\r\nbb = 2\r\n", "a  = 1\r\nbb = 2\n"},
		"keeps what is normal as is":   {"a = 1\n", "a = 1\n"},
		"keeps expressions over lines": {"a = [\n1,\n2,\n]\n", "a = [\n  1,\n  2,\n]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, diagnostics := config.Format(config.Source{Name: "main.hcl", Bytes: []byte(one.text)})
			if len(diagnostics) > 0 {
				t.Fatal(rendered(t, diagnostics))
			}
			if difference := cmp.Diff(one.want, string(got)); difference != "" {
				t.Error(difference)
			}
		})
	}
}

func TestBrokenFileIsNotFormatted(t *testing.T) {
	for _, text := range []string{"a = \n", "fleet {", "\xff"} {
		got, diagnostics := config.Format(config.Source{Name: "main.hcl", Bytes: []byte(text)})
		if got != nil || !diagnostics.HasErrors() {
			t.Errorf("%q: %q, %v", text, got, diagnostics)
		}
	}
}

// formatted checks what holds for every text: formatting ends, doing it again
// changes nothing, and the file means what it meant.
func formatted(t *testing.T, text []byte, beside ...config.Source) {
	t.Helper()
	file := config.Source{Name: "file.hcl", Bytes: text}
	got, diagnostics := config.Format(file)
	if diagnostics.HasErrors() {
		return
	}
	again, _ := config.Format(config.Source{Name: "file.hcl", Bytes: got})
	if len(diagnostics) == 0 && !bytes.Equal(got, again) {
		t.Fatalf("a second time it is different:\n%s", cmp.Diff(string(got), string(again)))
	}
	before, found := config.Load(append([]config.Source{file}, beside...), config.Variables{}, schemas{})
	file.Bytes = got
	after, same := config.Load(append([]config.Source{file}, beside...), config.Variables{}, schemas{})
	if (before == nil) != (after == nil) || len(found) != len(same) {
		t.Fatalf("before: %v\nafter: %v", found, same)
	}
	if before != nil {
		if difference := cmp.Diff(before.Definition, after.Definition); difference != "" {
			t.Fatalf("the definition changed:\n%s", difference)
		}
	}
}

func TestFormattingChangesNoMeaning(t *testing.T) {
	base := source(t, "testdata/base.hcl")
	for _, pattern := range []string{"testdata/bad/*.hcl", "testdata/good/*.hcl"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, path := range files {
			if strings.HasPrefix(filepath.Base(path), "work-") {
				continue // slow to load, and nothing special to a formatter
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			// As a person would mangle it.
			for _, text := range []string{string(content), strings.ReplaceAll(string(content), "  ", ""),
				strings.ReplaceAll(string(content), " = ", "="), strings.ReplaceAll(string(content), "\n", "\n\t")} {
				beside := []config.Source{base}
				if forgeyardBlock.MatchString(text) {
					beside = nil
				}
				t.Run(filepath.Base(path), func(t *testing.T) { formatted(t, []byte(text), beside...) })
			}
		}
	}
}

func FuzzFormat(f *testing.F) {
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
			f.Add(content)
		}
	}
	base := source(f, "testdata/base.hcl")
	f.Fuzz(func(t *testing.T, text []byte) { formatted(t, text, base) })
}
