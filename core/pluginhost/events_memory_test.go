//go:build unix

package pluginhost

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// A thousand notices are kept for a while. Each was bounded in what it showed, and
// kept all of the message that it was cut from.
func TestAPluginsGiantNoticesAreNotKept(t *testing.T) {
	const count, size = 12, 1 << 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var kept []Notice
	for n := range count {
		giant := func(what string) string { return fmt.Sprintf("%s-%d", what, n) + strings.Repeat("x", size) }
		kept = append(
			kept,
			noticeOf(
				&providerpb.WatchResponse{EventId: "e", Kind: providerpb.WatchResponse_KIND_INTERRUPTION, InstanceId: giant("i")},
			),
			noticeOf(
				&providerpb.WatchResponse{
					EventId:    giant("e"),
					Kind:       providerpb.WatchResponse_KIND_INTERRUPTION,
					InstanceId: "i",
					Detail:     giant("d"),
				},
			),
		)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4*size {
		t.Errorf("%d notices hold %d MiB", len(kept), grown>>20)
	}
	if kept[0].Instance != "" || kept[0].Notice.Kind != "" || !strings.HasPrefix(kept[1].Notice.Detail, "d-0x") {
		t.Errorf("a machine's name of a MiB is %.60q, %q", kept[0].Instance, kept[0].Notice.Kind)
	}
}
