package orders

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// QuarantineFleetRequest takes a fleet's instances out of work (spec §135, §136). Fleet is an
// address or a name.
type QuarantineFleetRequest struct{ Fleet, Reason string }

// QuarantineInstanceRequest takes one instance out of work.
type QuarantineInstanceRequest struct {
	Instance fleet.CapacityInstanceID
	Reason   string
}

// QuarantineImageRequest takes what was made from an image out of work. Image is a
// declared digest or image.NAME.
type QuarantineImageRequest struct{ Image, Reason string }

const quarantineUseCase = "quarantine"

// released is what the end of a quarantine does.
const released = "cleared: the quarantined instances are removed once they run no job, and replaced where they are " +
	"still needed"

// QuarantineFleet takes a fleet's instances out of work and lets no new ones come.
func (h Handler) QuarantineFleet(ctx context.Context, r QuarantineFleetRequest) (OverrideReceipt, error) {
	return h.set(ctx, quarantineUseCase, r.Reason, func(v *validation) (override, error) {
		f, err := v.fleet(r.Fleet)
		return override{stored: v.quarantine(fleet.Quarantine{Fleet: f.ID}), subject: string(f.Address),
			done: "quarantined: its instances take no jobs, running jobs continue, and no instance starts"}, err
	})
}

// ClearFleetQuarantine releases a fleet.
func (h Handler) ClearFleetQuarantine(ctx context.Context, fleetName string) (OverrideReceipt, error) {
	return h.clear(ctx, quarantineUseCase, func(v *validation) (override, error) {
		f, err := v.fleet(fleetName)
		return override{stored: fleet.Quarantine{Fleet: f.ID}, subject: string(f.Address), done: released}, err
	})
}

// QuarantineInstance takes an instance out of work.
func (h Handler) QuarantineInstance(ctx context.Context, r QuarantineInstanceRequest) (OverrideReceipt, error) {
	return h.set(ctx, quarantineUseCase, r.Reason, func(v *validation) (override, error) {
		i, address, err := v.instance(r.Instance)
		if err == nil && (i.State == fleet.Failed || i.State == fleet.Terminating || i.State == fleet.Terminated) {
			err = access.Conflict("%s is %s: it takes no more jobs", ofFleet(i, address), i.State)
		}
		return override{
			stored:  v.quarantine(fleet.Quarantine{Instance: i.ID}),
			subject: ofFleet(i, address),
			done: fmt.Sprintf(
				"quarantined: it takes no jobs, and its running job continues; it is removed after timeouts.quarantine. To give "+
					"its job up: forgeyard-fleet drain %s --force",
				i.ID,
			),
		}, err
	})
}

// ClearInstanceQuarantine releases an instance.
func (h Handler) ClearInstanceQuarantine(ctx context.Context, id fleet.CapacityInstanceID) (OverrideReceipt, error) {
	return h.clear(ctx, quarantineUseCase, func(v *validation) (override, error) {
		i, address, err := v.instance(id)
		return override{stored: fleet.Quarantine{Instance: i.ID}, subject: ofFleet(i, address), done: released}, err
	})
}

// QuarantineImage takes what was made from an image out of work, and nothing new is
// made from it.
func (h Handler) QuarantineImage(ctx context.Context, r QuarantineImageRequest) (OverrideReceipt, error) {
	return h.set(ctx, quarantineUseCase, r.Reason, func(v *validation) (override, error) {
		digest, err := v.quarantinedImage(r.Image)
		return override{stored: v.quarantine(fleet.Quarantine{Image: digest}), subject: "image " + digest,
			done: "quarantined: its instances take no jobs, running jobs continue, and no instance is made from it"}, err
	})
}

// ClearImageQuarantine releases an image.
func (h Handler) ClearImageQuarantine(ctx context.Context, image string) (OverrideReceipt, error) {
	return h.clear(ctx, quarantineUseCase, func(v *validation) (override, error) {
		digest, err := v.quarantinedImage(image)
		return override{stored: fleet.Quarantine{Image: digest}, subject: "image " + digest, done: released}, err
	})
}

// quarantinedImage is the digest of an image that the caller may quarantine or release.
func (v *validation) quarantinedImage(image string) (digest string, err error) {
	if err := v.unlimited(image); err != nil {
		return "", err
	}
	return v.image(image)
}

// quarantine is what is decided now about the subject of q. A quarantine of it that holds
// already keeps its reason, which says why the subject was taken out of service.
func (v *validation) quarantine(q fleet.Quarantine) fleet.Quarantine {
	q.Attribution = v.decided
	n := slices.IndexFunc(v.state.Overrides.Quarantines, func(old fleet.Quarantine) bool {
		return old.Fleet == q.Fleet && old.Instance == q.Instance && old.Image == q.Image
	})
	if n < 0 {
		return q
	}
	switch old := v.state.Overrides.Quarantines[n].Reason; {
	case old == "" || old == q.Reason:
	case q.Reason == "":
		q.Reason = old
	case len(old)+len("; ")+len(q.Reason) <= longestReason && !slices.Contains(strings.Split(old, "; "), q.Reason):
		q.Reason = old + "; " + q.Reason
	default:
		q.Reason = old // the audit log has the new one
	}
	return q
}
