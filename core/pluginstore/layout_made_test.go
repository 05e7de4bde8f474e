package pluginstore

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

func TestALayoutWhoseMakerWasKilledIsMade(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"before the index":    {"oci-layout": "", "index.json.new": `{"sch`},
		"before the marker":   {"oci-layout": "", "index.json": string(emptyIndex())},
		"in the marker":       {"oci-layout": "", "index.json": string(emptyIndex()), "oci-layout.new": "{"},
		"before anything was": {"oci-layout": ""},
	} {
		t.Run(name, func(t *testing.T) {
			origin := layoutOf(t)
			if err := os.MkdirAll(origin.Layout, 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range files {
				if err := os.WriteFile(filepath.Join(origin.Layout, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			publish(t, origin, releaseOf(t, example, "1.0.0", nil))
		})
	}
	theirs := layoutOf(t)
	if err := os.MkdirAll(theirs.Layout, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(theirs.Layout, "index.json"), []byte(`{"routes": []}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Publish(t.Context(), theirs, releaseOf(t, example, "1.0.0", nil)); err == nil {
		t.Error("the folder of something else became a layout")
	}
}

// The second one wrote the list of releases again, without the first one's.
func TestTwoWhoMakeALayoutAtOnceLoseNoRelease(t *testing.T) {
	for range 10 {
		origin := layoutOf(t)
		var publishers sync.WaitGroup
		for n := range 6 {
			release := releaseOf(t, example, fmt.Sprintf("1.0.%d", n), nil)
			publishers.Go(func() {
				if _, err := Publish(t.Context(), origin, release); err != nil {
					t.Error(err)
				}
			})
		}
		publishers.Wait()
		place, err := openLayout(origin.Layout, example)
		if err != nil {
			t.Fatal(err)
		}
		tags, err := place.tags(t.Context())
		if slices.Sort(tags); err != nil || len(tags) != 6 {
			t.Fatalf("%v, %v", tags, err)
		}
	}
}
