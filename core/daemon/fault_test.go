package daemon

import (
	"context"
	"errors"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
)

// Each new try of the plugin hid why the last one had failed.
func TestPluginFailureIsShownWhileItRestarts(t *testing.T) {
	var told []loop.Event
	p := newProviders(&Daemon{options: workspacetest.Options(t)})
	p.start(t.Context(), func(_ context.Context, e loop.Event) { told = append(told, e) })
	failed := ""
	for _, s := range []pluginhost.SupervisorStatus{
		{State: pluginhost.SupervisorStarting, Err: errors.New("it is being started")},
		{State: pluginhost.SupervisorWaiting, Err: errors.New("no credentials")},
		{State: pluginhost.SupervisorStarting, Err: errors.New("it is being started")},
		{State: pluginhost.SupervisorReady},
		{State: pluginhost.SupervisorStarting, Err: errors.New("it is being started")},
	} {
		s.Provider = "local.here"
		failed = p.changed(s, pluginhost.Info{}, failed)
	}
	want := []loop.ProviderDown{
		{
			Reason:   "it is being started",
			Starting: true,
		},
		{Reason: "no credentials", Detail: "no credentials"},
		{Reason: "no credentials"},
		{},
		{Reason: "it is being started", Starting: true},
	}
	for n, e := range told {
		down, _ := e.(loop.ProviderDown)
		down.Provider = ""
		if down != want[n] {
			t.Errorf("%d: told %+v, want %+v", n, down, want[n])
		}
	}
	if len(told) != len(want) {
		t.Errorf("told %v", told)
	}
}
