package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

const goodImage = "sha256:1111b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"

// rolledOut is a manager whose fleet.demo is on its way from the good image to the
// bad one, and whose fleet.other has no earlier image.
func rolledOut(t *testing.T, now *time.Time, change func(*fleet.Rollout)) *Daemon {
	t.Helper()
	m := withTwoFleets(t, now)
	fleets, err := m.store.Fleets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	of := fleets[0]
	if of.ID != "f1" {
		of = fleets[1]
	}
	before := of.Make()
	before.Image.Digest = goodImage
	known := fleet.Rollout{Fleet: "f1", Target: of.Make(), Began: *now, Good: []fleet.Make{before}}
	if change != nil {
		change(&known)
	}
	if err := m.store.Commit(t.Context(), store.Change{Rollouts: []fleet.Rollout{known}}); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRollbackNeedsPermissionAndAnEarlierGoodImage(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := rolledOut(t, &now, nil)
	limited := access.Caller{Name: "bob", Permissions: access.AllPermissions(), Fleets: []fleet.FleetAddress{"fleet.demo"}}
	for _, test := range []struct {
		name   string
		caller access.Caller
		word   fleet.RolloutAction
		order  orders.RolloutRequest
		want   any
	}{
		{"a reader", access.Caller{Name: "bob", Permissions: []access.Permission{access.ReadFleets}}, fleet.RollBack,
			orders.RolloutRequest{Subject: "demo"}, new(*access.DeniedError)},
		{"who may freeze", access.Caller{Name: "bob", Permissions: []access.Permission{access.FreezeFleets}},
			fleet.PauseRollout, orders.RolloutRequest{Subject: "demo"}, new(*access.DeniedError)},
		{"no such fleet", access.LocalUser("ada"), fleet.RollBack, orders.RolloutRequest{Subject: "none"},
			new(*access.NotFoundError)},
		{"no such image", access.LocalUser("ada"), fleet.RollBack, orders.RolloutRequest{Subject: "image.none"},
			new(*access.NotFoundError)},
		{"another fleet's token", limited, fleet.RollBack, orders.RolloutRequest{Subject: "other"},
			new(*access.NotFoundError)},
		{"a limited token and an image", limited, fleet.RollBack, orders.RolloutRequest{Subject: "image.ubuntu"},
			new(*access.DeniedError)},
		{"nothing known good", access.LocalUser("ada"), fleet.RollBack, orders.RolloutRequest{Subject: "other"},
			new(*access.ConflictError)},
		{"one of the image's fleets has nothing known good", access.LocalUser("ada"), fleet.RollBack,
			orders.RolloutRequest{Subject: "image.ubuntu"}, new(*access.ConflictError)},
		{"two lines of a reason", access.LocalUser("ada"), fleet.RollBack,
			orders.RolloutRequest{Subject: "demo", Reason: "a\nb"}, new(*access.InvalidError)},
	} {
		if _, err := roll(as(t, test.caller), m, test.word, test.order); !errors.As(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if kept, err := m.store.Overrides(t.Context()); err != nil || len(kept.Rollouts) > 0 {
		t.Errorf("what was refused is kept: %+v, %v", kept.Rollouts, err)
	}
}

func TestARollbackIsTakenBackByARolloutAndEachIsAudited(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := rolledOut(
		t,
		&now,
		func(r *fleet.Rollout) { r.Halted = &fleet.RolloutHalt{At: now, Reason: reason.Plain("it was lost")} },
	)
	ada := as(t, access.LocalUser("ada"))
	say := func(word fleet.RolloutAction, want string, changed bool) {
		t.Helper()
		now = now.Add(time.Second)
		r, err := roll(ada, m, word, orders.RolloutRequest{Subject: "fleet.demo", Reason: "incident 12"})
		if err != nil || len(r.Fleets) != 1 || r.Fleets[0].Changed != changed || !strings.Contains(r.Fleets[0].Done, want) {
			t.Fatalf("%s: %+v, %v; want %q", word, r, err, want)
		}
	}
	say(fleet.RollBack, "rolled back to image ubuntu (sha256:1111…)", true)
	say(fleet.RollBack, "already", false) // the same word again goes no further back
	if _, err := roll(
		ada,
		m,
		fleet.PauseRollout,
		orders.RolloutRequest{Subject: "demo"},
	); !errors.As(
		err,
		new(*access.ConflictError),
	) {
		t.Errorf("a pause took a rollback back: %v", err)
	}
	images, err := m.Images(ada)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]view.ImageState{}
	for _, i := range images {
		for _, f := range i.Fleets {
			states[string(f.Fleet)+" "+i.Digest[:11]] = f.State
		}
	}
	if states["fleet.demo sha256:2c26"] != view.ImageRolledBack ||
		states["fleet.demo sha256:1111"] == view.ImageKnownGood ||
		states["fleet.other sha256:2c26"] != view.ImageActive {
		t.Errorf("the images are %v", states)
	}
	say(fleet.ResumeRollout, "resumed: image ubuntu (sha256:2c26…), with a canary first", true)
	say(fleet.PauseRollout, "paused", true)
	say(fleet.ResumeRollout, "resumed", true)
	records, err := m.Audit(ada, 0)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, r := range records {
		if strings.HasPrefix(r.Action, "image") {
			told = append(told, r.Action+" "+r.By)
			if !strings.Contains(r.Detail, "fleet.demo") || !strings.Contains(r.Detail, "incident 12") {
				t.Errorf("the record says %q", r.Detail)
			}
		}
	}
	if got := strings.Join(
		told,
		", ",
	); got != "image rollout ada, image rollout ada, image rollout ada, image rollback ada" {
		t.Errorf("audited: %s", got)
	}
}

// An image that is quarantined is none to go back to.
func TestNobodyIsRolledBackToAQuarantinedImage(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := rolledOut(t, &now, nil)
	ada := as(t, access.LocalUser("ada"))
	if _, err := give(ada, m.Orders(), orders.QuarantineImageRequest{Image: goodImage}); err != nil {
		t.Fatal(err)
	}
	_, err := roll(ada, m, fleet.RollBack, orders.RolloutRequest{Subject: "demo"})
	if !errors.As(err, new(*access.ConflictError)) || !strings.Contains(err.Error(), "is quarantined") {
		t.Errorf("refused with %v", err)
	}
}

// roll gives the order of a word.
func roll(
	ctx context.Context,
	m *Daemon,
	word fleet.RolloutAction,
	r orders.RolloutRequest,
) (orders.RolloutReceipt, error) {
	switch word {
	case fleet.PauseRollout:
		return m.Orders().PauseRollout(ctx, r)
	case fleet.RollBack:
		return m.Orders().RollBack(ctx, r)
	}
	return m.Orders().ResumeRollout(ctx, orders.ResumeRequest{Subject: r.Subject, Reason: r.Reason})
}

func TestResumeWithoutASoakIsKeptSo(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	m := rolledOut(
		t,
		&now,
		func(r *fleet.Rollout) { r.Halted = &fleet.RolloutHalt{At: now, Reason: reason.Plain("it was lost")} },
	)
	receipt, err := m.Orders().
		ResumeRollout(as(t, access.LocalUser("ada")), orders.ResumeRequest{Subject: "demo", SkipSoak: true})
	if err != nil || len(receipt.Fleets) != 1 || !strings.HasSuffix(receipt.Fleets[0].Done, ", without a soak") {
		t.Errorf("%+v, %v", receipt, err)
	}
	if kept, err := m.store.Overrides(t.Context()); err != nil || len(kept.Rollouts) != 1 || !kept.Rollouts[0].SkipSoak {
		t.Errorf("kept is %+v, %v", kept.Rollouts, err)
	}
}
