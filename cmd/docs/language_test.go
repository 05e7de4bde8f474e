package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// replaced are words that this project once used, each with the word to use instead.
// CONTRIBUTING.md says why.
var replaced = []struct{ pattern, use string }{
	{`purse|tally`, "budget, count"},
	{`glass`, "cost override"},
	{`ghosts?|strays?|leftovers?`, "orphan, dangling resource, unknown runner"},
	{`judge[sd]?|judgements?|judging|ruling`, "decide, check"},
	{`nobody`, "no one, none"},
	{`whoever`, "everyone who, what"},
	{`anew`, "again, newly"},
	{`thaw(s|ed)?|unpin`, "--clear"},
	{`condemn(s|ed)?`, "mark for removal"},
	{`obey(s|ed|ing)?`, "apply, follow"},
	{`in vain`, "without success"},
	{`goes on`, "continues"},
	{`of before`, "earlier"},
	{`belongs into`, "belongs in"},
	{`uninvited|letin|deaf|blind`, "unknown, admitted, unreachable, unobservable"},
	{`brake(s|d)?`, "hold"},
	{`spoiled|strand(s|ed)?|spill(s|ed)?`, "failed, removed, unplaced"},
	{`foresee(s|n)?|foresaw`, "forecast"},
	{`unmet`, "queued demand, unplaced demand"},
	{`is no (json|csv|cron|size|time|name|number|token|url|program|valid|error|answer|file|failure)`,
		"isn't a, is not valid"},
}

// spoken are the places that may have such a word, by a piece of the line.
var spoken = []struct{ piece, why string }{
	{`UnmetDemand`, "the specification's name, which docs/spec.md explains"},
	{`"unmet" would`, "the same explanation"},
	{`unmet demand`, "what the specification says"},
	{`http.NoBody`, "a name of net/http"},
	{`"nobody"`, "the account of that name on Unix, and names in tests"},
	{`user nobody`, "the account of that name on Unix"},
	{`nobody's"`, "a name in a test"},
	{`/nobody`, "a file's name in a test"},
	{`-nobody`, "a file's name in a test"},
	{`"vm-of-nobody"`, "a name in a test"},
	{`token \"nobody\"`, "a name in a test"},
	{`break_glass`, "the name that rows of earlier versions have"},
	{`here is no `, "plain English, as in \"there is no default\""},
	{`badPhrase`, "the same list, for reasons"},
}

func TestReplacedWordsAreGone(t *testing.T) {
	var all []string
	for _, word := range replaced {
		all = append(all, word.pattern)
	}
	any := regexp.MustCompile(`(?i)\b(` + strings.Join(all, "|") + `)\b`)
	files, lines := 0, 0
	for _, name := range textFiles(t) {
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		files++
		for n, line := range strings.Split(string(content), "\n") {
			lines++
			found := any.FindString(line)
			if found == "" || mayStand(line) {
				continue
			}
			t.Errorf("%s:%d has %q; use: %s", name, n+1, found, insteadOf(found))
		}
	}
	if files < 1000 || lines < 100_000 {
		t.Errorf("%d files with %d lines: this test looks at too few", files, lines)
	}
}

func mayStand(line string) bool {
	for _, s := range spoken {
		if strings.Contains(line, s.piece) {
			return true
		}
	}
	return false
}

func insteadOf(found string) string {
	for _, word := range replaced {
		if regexp.MustCompile(`(?i)^(` + word.pattern + `)$`).MatchString(found) {
			return word.use
		}
	}
	return "another word"
}

// textFiles are the files that people read and that are written by hand, or from what is.
func textFiles(t *testing.T) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "-z",
		"*.go", "*.md", "*.hcl", "*.txt", "*.golden", "*.yml", "*.yaml", "*.proto", "*.sql", "*.sh", "Makefile", ".ci/*")
	command.Dir = root
	listed, err := command.Output()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("git can't list the files: %v", err)
		}
		t.Skipf("git can't list the files: %v", err)
	}
	var names []string
	for _, name := range strings.Split(strings.TrimRight(string(listed), "\x00"), "\x00") {
		own := name == "CHANGELOG.md" || name == "cmd/docs/language_test.go"
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); own || err != nil {
			continue // the changelog names old words, and a deleted file has none
		}
		names = append(names, name)
	}
	return names
}
