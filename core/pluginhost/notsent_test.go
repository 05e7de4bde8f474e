//go:build unix

package pluginhost

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// An unknown outcome holds a place in the fleet until an inspection settles it.
// What never left the manager isn't unknown.
func TestACallThatNeverBeganIsNotUnknown(t *testing.T) {
	shared := started(t, launch(t, ""))
	type call struct {
		ctx     context.Context
		process *Process
		request ProvisionRequest
		refs    []TerminateRef
	}
	for name, test := range map[string]struct {
		corrupt func(*testing.T, *call)
		ends    bool // the process
		class   fleet.ErrorClass
		want    string
	}{
		"the request is too large": {func(_ *testing.T, c *call) {
			c.request.Instance = make([]byte, providerpb.MaxMessageBytes)
			c.refs = []TerminateRef{{Key: fleet.OperationID(make([]byte, providerpb.MaxMessageBytes))}}
		}, false, fleet.ErrorInvalid, "may have 16777216"},
		"a key is used twice": {func(_ *testing.T, c *call) {
			c.request.Items = append(c.request.Items, c.request.Items[0])
			c.refs = []TerminateRef{{ID: "gone", Key: "k"}, {Key: "k"}}
		}, false, fleet.ErrorInvalid, "empty or used twice"},
		"a key is empty": {func(_ *testing.T, c *call) {
			c.request.Items[0].Key = ""
			c.refs = []TerminateRef{{}}
		}, false, fleet.ErrorInvalid, "empty or used twice"},
		"the process is gone": {func(t *testing.T, c *call) {
			kill(t, pidOf(t, c.process), syscall.SIGKILL)
			exits(t, c.process)
		}, true, fleet.ErrorTransient, "signal: killed"},
		"the process is being stopped": {func(_ *testing.T, c *call) { c.process.stopping.Store(true) },
			true, fleet.ErrorTransient, "being stopped"},
		"the caller's time is up": {func(t *testing.T, c *call) {
			ctx, cancel := context.WithCancel(c.ctx)
			cancel()
			c.ctx = ctx
		}, false, fleet.ErrorTransient, "no time left"},
	} {
		t.Run(name, func(t *testing.T) {
			c := call{
				ctx: t.Context(), process: shared, refs: []TerminateRef{{ID: "gone", Key: "k"}},
				request: ProvisionRequest{Fleet: "f1", Address: "fleet.small", Items: []ProvisionItem{{Key: "k", Name: "created"}}},
			}
			if test.ends {
				c.process = started(t, launch(t, ""))
			}
			test.corrupt(t, &c)
			answers := 0
			err := c.process.Provision(c.ctx, c.request, func(a ProvisionAnswer) {
				if answers++; a.Outcome != fleet.ProvisionNotSent || !a.CallOver || a.Err.Class != test.class {
					t.Errorf("%+v (%v)", a, a.Err)
				}
			})
			wantError(t, err, "make ", "nothing was sent", test.want)
			if answers != len(c.request.Items) {
				t.Errorf("%d answers for %d items", answers, len(c.request.Items))
			}
			answers = 0
			err = c.process.Terminate(c.ctx, c.refs, false, func(a TerminateAnswer) {
				if answers++; a.Outcome != fleet.TerminateNotSent || !a.CallOver || a.Err.Class != test.class {
					t.Errorf("%s (%v)", a.Outcome, a.Err)
				}
			})
			wantError(t, err, "remove ", "nothing was sent", test.want)
			if answers != len(c.refs) {
				t.Errorf("%d answers for %d references", answers, len(c.refs))
			}
		})
	}
}

func TestARequestJustBelowTheLimitIsSent(t *testing.T) {
	request := ProvisionRequest{
		Instance: []byte(strings.Repeat("x", providerpb.MaxMessageBytes-1000)),
		Items:    []ProvisionItem{{Key: "k", Name: "created"}},
	}
	err := started(t, launch(t, "")).Provision(t.Context(), request, func(a ProvisionAnswer) {
		if a.Outcome != fleet.ProvisionCreated {
			t.Errorf("%+v", a)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
