package docs

import (
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	citation = regexp.MustCompile(`(?:^|[\s(])\[(\d+(?:(?:,\s*|-)\d+)*)\]|§(\d+(?:-\d+)?)`)
	numbers  = regexp.MustCompile(`\d+`)
)

// A reader who meets `spec §151` finds what it asks without having the specification.
func TestEveryCitedSectionHasALine(t *testing.T) {
	described := map[string]bool{}
	for _, row := range tableRows(read(t, "docs/spec.md")) {
		if described[row[0]] {
			t.Errorf("docs/spec.md has two lines for %s", row[0])
		}
		described[row[0]] = true
		if len(row) != 2 || row[1] == "" {
			t.Errorf("docs/spec.md says nothing of %s", row[0])
		}
	}
	cited := 0
	check := func(where, text string) {
		for _, section := range sectionsIn(text) {
			cited++
			if !described["§"+strconv.Itoa(section)] {
				t.Errorf("%s cites §%d, and docs/spec.md has no line for it", where, section)
			}
		}
	}
	for _, path := range goFiles(t) {
		check(path, goComments(t, path))
	}
	for _, page := range pages(t) {
		if page != "docs/spec.md" {
			check(page, onlyMarked(withoutCode(read(t, page))))
		}
	}
	if cited < 150 {
		t.Errorf("only %d citations were found", cited)
	}
}

func TestSectionsAreFoundInComments(t *testing.T) {
	text := "calls (spec §45-47, §151) and [8], not names[1] nor [0, 1) nor [800]"
	if got := sectionsIn(text); len(got) != 5 {
		t.Errorf("found %v", got)
	}
}

// onlyMarked leaves of a page what is marked as a section: a number in brackets may
// be anything there.
func onlyMarked(page string) string {
	return strings.Join(regexp.MustCompile(`§\d+(?:-\d+)?`).FindAllString(page, -1), " ")
}

// sectionsIn are the sections that a text cites; a range stands for all within it.
func sectionsIn(text string) []int {
	var found []int
	for _, match := range citation.FindAllStringSubmatch(text, -1) {
		for part := range strings.SplitSeq(match[1]+match[2], ",") {
			ends := numbers.FindAllString(part, 2)
			first, _ := strconv.Atoi(ends[0])
			last, _ := strconv.Atoi(ends[len(ends)-1])
			if first < 1 || last > 301 {
				continue // an interval or an index
			}
			for section := first; section <= last; section++ {
				found = append(found, section)
			}
		}
	}
	return found
}

// goFiles are the repository's own Go files, without what is generated.
func goFiles(t *testing.T) []string {
	t.Helper()
	list := exec.Command("git", "ls-files", "*.go")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range strings.Fields(string(out)) {
		if _, err := os.Stat(filepath.Join(root, path)); err == nil && !strings.HasSuffix(path, ".pb.go") {
			found = append(found, path)
		}
	}
	return found
}

// goComments is the text of a file's comments, without what examples print.
func goComments(t *testing.T, path string) string {
	t.Helper()
	source := []byte(read(t, filepath.FromSlash(path)))
	files := token.NewFileSet()
	var scan scanner.Scanner
	scan.Init(files.AddFile(path, files.Base(), len(source)), source, nil, scanner.ScanComments)
	var text strings.Builder
	for {
		_, kind, literal := scan.Scan()
		switch {
		case kind == token.EOF:
			return text.String()
		case kind == token.COMMENT && !strings.HasPrefix(literal, "// Output:"):
			text.WriteString(" " + strings.TrimSpace(strings.TrimPrefix(literal, "//")))
		}
	}
}
