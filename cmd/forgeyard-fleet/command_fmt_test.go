package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runFmt runs fmt on its own, and gives the exit code and what was printed.
func runFmt(t *testing.T, input string, args ...string) (code int, out, failure string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{
		in:        strings.NewReader(input),
		out:       &stdout,
		err:       &stderr,
		lookupEnv: func(string) (string, bool) { return "", false },
	}
	code = a.run(t.Context(), append([]string{"fmt"}, args...))
	return code, stdout.String(), stderr.String()
}

const (
	untidy = "fleet \"x\" {\nscaling {\nmin=1\n}\n}\n"
	tidy   = "fleet \"x\" {\n  scaling {\n    min = 1\n  }\n}\n"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFmtWritesOnlyWhatIsNotInNormalForm(t *testing.T) {
	dir := t.TempDir()
	first, second := write(t, dir, "a.hcl", untidy), write(t, dir, "b.hcl", tidy)
	lock, other := write(t, dir, "fleet.lock.hcl", untidy), write(t, dir, "notes.txt", untidy)
	code, out, failure := runFmt(t, "", dir)
	if code != 0 || out != first+"\n" || failure != "" {
		t.Errorf("%d, %q, %q", code, out, failure)
	}
	if content(t, first) != tidy || content(t, second) != tidy || content(t, lock) != untidy ||
		content(t, other) != untidy {
		t.Error("a file isn't what it should be")
	}
	info, err := os.Stat(first)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 4 {
		t.Errorf("drafts were left: %v, %v", left, err)
	}
	if code, out, _ := runFmt(t, "", dir); code != 0 || out != "" {
		t.Errorf("the second time: %d, %q", code, out)
	}
}

func TestFmtCheckWritesNothingAndExitsWithOne(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "a.hcl", untidy)
	if code, out, failure := runFmt(t, "", "--check", dir); code != 1 || out != path+"\n" || failure != "" {
		t.Errorf("%d, %q, %q", code, out, failure)
	}
	code, out, _ := runFmt(t, "", "--check", "--diff", path)
	if code != 1 || !strings.Contains(out, "-min=1\n") || !strings.Contains(out, "+    min = 1\n") {
		t.Errorf("%d, %q", code, out)
	}
	if content(t, path) != untidy {
		t.Error("--check wrote the file")
	}
	write(t, dir, "a.hcl", tidy)
	if code, out, _ := runFmt(t, "", "--check", dir); code != 0 || out != "" {
		t.Errorf("a tidy file: %d, %q", code, out)
	}
}

func TestFmtLeavesABrokenFileAloneAndFormatsTheOthers(t *testing.T) {
	dir := t.TempDir()
	broken, fine := write(t, dir, "a.hcl", "fleet {\n"), write(t, dir, "b.hcl", untidy)
	code, _, failure := runFmt(t, "", dir)
	if code != 1 || !strings.Contains(failure, "a.hcl:1:") {
		t.Errorf("%d, %q", code, failure)
	}
	if content(t, broken) != "fleet {\n" || content(t, fine) != tidy {
		t.Error("the broken file was touched, or the other one wasn't")
	}
}

func TestFmtKeepsALinkALink(t *testing.T) {
	dir := t.TempDir()
	target := write(t, t.TempDir(), "real.hcl", untidy)
	link := filepath.Join(dir, "a.hcl")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if code, _, failure := runFmt(t, "", dir); code != 0 {
		t.Fatal(failure)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 || content(t, target) != tidy {
		t.Errorf("%v, %v, %q", info.Mode(), err, content(t, target))
	}
}

func TestFmtOfStandardInput(t *testing.T) {
	if code, out, failure := runFmt(t, untidy, "-"); code != 0 || out != tidy {
		t.Errorf("%d, %q, %q", code, out, failure)
	}
	if code, out, _ := runFmt(t, untidy, "--check", "-"); code != 1 || out != "" {
		t.Errorf("%d, %q", code, out)
	}
	if code, _, failure := runFmt(t, "", filepath.Join(t.TempDir(), "missing.hcl")); code != 1 || failure == "" {
		t.Errorf("a missing file: %d, %q", code, failure)
	}
}
