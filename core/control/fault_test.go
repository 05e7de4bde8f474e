package control

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// Each new try of the plugin hid why the last one had failed.
func TestWhyAPluginFailedIsToldWhileItIsStartedAgain(t *testing.T) {
	var told []loop.Event
	p := newProviders(&Manager{reading: reading{options: options(t)}})
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
		{Reason: "it is being started", Starting: true}, {Reason: "no credentials", Detail: "no credentials"}, {Reason: "no credentials"},
		{}, {Reason: "it is being started", Starting: true},
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

// A plan of a corrected provider went on to show the failures of the wrong one.
func TestAChangedProviderIsPlannedWithoutTheHoldOfTheOldOne(t *testing.T) {
	a := &applied{t: t}
	d := file("one")
	a.apply(d)
	a.observed = snapshot.Observations{Since: now,
		Holds: map[fleet.RunnerFleetID]snapshot.Hold{"f1": {Reason: reason.Plain("10 failures in a row"), Until: now.Add(time.Minute)}}}
	if p := a.plan(d).Preview.Fleets[0]; p.Create != 0 || !reason.Is[reason.HeldBack](p.Waiting[0]) {
		t.Errorf("unchanged, it starts %d: %+v", p.Create, p.Waiting)
	}
	d.Providers = []fleet.Provider{{Address: "local.here", Advertise: "https://manager.example", Config: []byte(`{}`)}}
	if p := a.plan(d).Preview.Fleets[0]; p.Create != 1 || len(p.Waiting) > 0 {
		t.Errorf("with another address it starts %d: %+v", p.Create, p.Waiting)
	}
}
