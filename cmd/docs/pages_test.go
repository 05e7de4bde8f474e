package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository.
var root = filepath.Join("..", "..")

func read(t testing.TB, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// pages are README.md and everything in docs/, as paths from the root.
func pages(t testing.TB) []string {
	t.Helper()
	found := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			relative, relErr := filepath.Rel(root, path)
			if relErr != nil {
				return relErr
			}
			found = append(found, filepath.ToSlash(relative))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// codeBlocks are the fenced blocks of a page in one language. HTML comments are
// no part of a page.
func codeBlocks(page, language string) []string {
	var blocks []string
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		fence, isFence := strings.CutPrefix(lines[i], "```")
		if !isFence {
			continue
		}
		begin := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		if fence == language {
			blocks = append(blocks, strings.Join(lines[begin:min(i, len(lines))], "\n")+"\n")
		}
	}
	return blocks
}

// tableRows are the rows of all tables in a text, cells trimmed, without heads
// and their underlines.
func tableRows(text string) [][]string {
	var rows [][]string
	inTable := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			inTable = false
			continue
		}
		if !inTable || strings.HasPrefix(line, "|---") {
			inTable = true
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	return rows
}
