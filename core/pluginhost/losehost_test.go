//go:build unix

package pluginhost

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/process"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
)

func TestAPluginThatLosesItsHostLeavesNothing(t *testing.T) {
	l := launch(t, "")
	process := started(t, l)
	left, err := process.LoseHost(t.Context(), 5*time.Second)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	wantEmpty(t, l.RunDir)
}

func TestWhatOutlivesItsHostIsNamedAndEnded(t *testing.T) {
	for name, test := range map[string]struct {
		mode, config string
		limit        time.Duration
		want         []string
	}{
		"a plugin that ignores it": {mode: "ignores the end", limit: 200 * time.Millisecond,
			want: []string{"its process", "its socket"}},
		"a child of an honest one": {config: `"children"`, limit: time.Minute, want: []string{"a process of its group"}},
	} {
		t.Run(name, func(t *testing.T) {
			plugin := started(t, launch(t, test.mode))
			pid := pidOf(t, plugin)
			if test.config != "" {
				account, _, err := plugin.Configure(
					t.Context(),
					Configuration{Provider: secret.Resolved{Body: []byte(test.config)}},
				)
				if err != nil || account == "" {
					t.Fatal(account, err)
				}
			}
			// What an honest plugin leaves is looked at when it has ended, however long that takes.
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				<-plugin.Exited()
				cancel()
			}()
			left, err := plugin.LoseHost(ctx, test.limit)
			if err != nil || len(left) != len(test.want) {
				t.Fatalf("left: %v, %v; want %v", left, err, test.want)
			}
			for i, what := range test.want {
				if !strings.HasPrefix(left[i], what) {
					t.Errorf("left: %v; want %v", left, test.want)
				}
			}
			if process.GroupLives(pid) {
				t.Error("it was not ended")
			}
		})
	}
}

func TestEverythingThatAPluginWritesIsPassedOnAsItIs(t *testing.T) {
	var mutex sync.Mutex
	var heard []pluginlog.OutputLine
	l := launch(t, "noise")
	l.OnOutput = func(line pluginlog.OutputLine) {
		mutex.Lock()
		defer mutex.Unlock()
		if len(line.Text) < 100 {
			heard = append(heard, line)
		}
	}
	process := started(t, l)
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	mutex.Lock()
	defer mutex.Unlock()
	if !slices.Contains(heard, pluginlog.OutputLine{Stdout: true, Text: "library v1 loaded"}) {
		t.Errorf("heard: %v", heard)
	}
}
