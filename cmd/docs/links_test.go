package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	linkForm    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingForm = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	slugDropped = regexp.MustCompile(`[^a-z0-9 _-]`)
)

func TestEveryLinkWithinTheRepositoryLeadsSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		for _, link := range linkForm.FindAllStringSubmatch(withoutCode(read(t, page)), -1) {
			target, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := page
			if target != "" {
				to = path.Join(path.Dir(page), target)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
				t.Errorf("%s links to %s, which isn't there", page, link[1])
				continue
			}
			if anchor != "" && !anchors(read(t, to))[anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", page, link[1], to)
			}
		}
	}
}

func TestEveryPageIsReachableFromTheREADME(t *testing.T) {
	seen := map[string]bool{}
	queue := []string{"README.md"}
	for len(queue) > 0 {
		page := queue[0]
		queue = queue[1:]
		if seen[page] || path.Ext(page) != ".md" {
			continue
		}
		seen[page] = true
		for _, link := range linkForm.FindAllStringSubmatch(withoutCode(read(t, page)), -1) {
			if target, _, _ := strings.Cut(link[1], "#"); target != "" && !strings.Contains(target, "://") {
				queue = append(queue, path.Join(path.Dir(page), target))
			}
		}
	}
	for _, page := range pages(t) {
		if !seen[page] {
			t.Errorf("no way leads from README.md to %s", page)
		}
	}
}

// anchors are the ids that headings get.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, heading := range headingForm.FindAllStringSubmatch(withoutCode(page), -1) {
		slug := slugDropped.ReplaceAllString(strings.ToLower(heading[1]), "")
		found[strings.ReplaceAll(slug, " ", "-")] = true
	}
	return found
}

var fence = regexp.MustCompile("(?ms)^```.*?^```$")

func withoutCode(page string) string { return fence.ReplaceAllString(page, "") }
