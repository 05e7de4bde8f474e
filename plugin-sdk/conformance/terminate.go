package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var terminateRules = []Rule{
	{
		Name: "terminate-unknown", check: terminateUnknown,
		Says: "Terminate of a key that never made anything answers GONE.",
	},
	{
		Name: "terminate-other-key", check: terminateOtherKey, Creates: true,
		Says: "Terminate refuses a resource that carries another key than the reference.",
	},
	{
		Name: "gone-is-gone", check: goneIsGone, Creates: true,
		Says: "What was answered with GONE isn't listed any more.",
	},
	{
		Name: "terminate-twice", check: terminateTwice, Creates: true,
		Says: "Terminate of what was terminated answers GONE.",
	},
	{
		Name: "nothing-left", check: nothingLeft,
		Says: "At the end nothing of the run is left in the infrastructure.",
	},
}

func terminateUnknown(ctx context.Context, b *bench) error {
	if _, err := b.ready(ctx); err != nil {
		return err
	}
	never, err := idText(b.options.Random, 26)
	if err != nil {
		return err
	}
	for range 2 {
		answers, err := b.terminate(ctx, &providerpb.Ref{Key: never})
		if err != nil {
			return err
		}
		if answers[0].GetOutcome() != providerpb.TerminateResponse_OUTCOME_GONE {
			return fmt.Errorf("the key %s never made anything, and is answered with %s", never, endOf(answers[0]))
		}
	}
	return nil
}

func terminateOtherKey(ctx context.Context, b *bench) error {
	if b.byAsset() && b.offers(providerpb.JoinService) {
		return skip("a person joins its hosts: only the manager knows which key holds which")
	}
	made, err := b.shared(ctx)
	if err != nil {
		return err
	}
	other, err := idText(b.options.Random, 26)
	if err != nil {
		return err
	}
	answers, err := b.terminate(ctx, &providerpb.Ref{Id: made.id, Key: other})
	if err != nil {
		return err
	}
	switch answers[0].GetOutcome() {
	case providerpb.TerminateResponse_OUTCOME_GONE, providerpb.TerminateResponse_OUTCOME_ACCEPTED:
		return fmt.Errorf("%s carries the key %s; asked to remove it under the key %s, the plugin answers %s", made.id,
			made.item.GetKey(), other, endOf(answers[0]))
	}
	return b.exactlyOne(ctx, made.item)
}

// terminated asks for the removal until it is done.
func (b *bench) terminated(ctx context.Context, made *instance) error {
	last := ""
	err := until(ctx, b.options.Patience, func() (bool, error) {
		answers, err := b.terminate(ctx, made.ref())
		if err != nil {
			return false, err
		}
		last = endOf(answers[0])
		switch answers[0].GetOutcome() {
		case providerpb.TerminateResponse_OUTCOME_GONE:
			return true, nil
		case providerpb.TerminateResponse_OUTCOME_ACCEPTED:
			return false, nil
		}
		return false, fmt.Errorf("the removal of %s is answered with %s", made.id, last)
	})
	if errors.Is(err, errTooLong) {
		return fmt.Errorf("%s isn't gone after %s: %s", made.id, b.options.Patience, last)
	}
	return err
}

func goneIsGone(ctx context.Context, b *bench) error {
	made, err := b.shared(ctx)
	if err != nil {
		return err
	}
	if err := b.terminated(ctx, made); err != nil {
		return err
	}
	var listed []*providerpb.Resource
	err = until(ctx, b.settle(), func() (bool, error) {
		seen, err := b.lookFor(ctx, made.item)
		if err != nil {
			return false, err
		}
		listed = seen.of(made.item)
		if made.item.GetAsset() != "" && len(listed) == 1 && listed[0].GetKind() == providerpb.AssetKind &&
			listed[0].GetKey() == "" {
			listed = nil // the host is free again
		}
		return len(listed) == 0, nil
	})
	if errors.Is(err, errTooLong) {
		return fmt.Errorf("it was answered with GONE, and %s is listed", shown(listed[0]))
	}
	return err
}

func terminateTwice(ctx context.Context, b *bench) error {
	made, err := b.shared(ctx)
	if err != nil {
		return err
	}
	if err := b.terminated(ctx, made); err != nil {
		return err
	}
	answers, err := b.terminate(ctx, made.ref())
	if err != nil {
		return err
	}
	if answers[0].GetOutcome() != providerpb.TerminateResponse_OUTCOME_GONE {
		return fmt.Errorf("%s was terminated, and the second time the answer is %s", made.id, endOf(answers[0]))
	}
	return nil
}

func nothingLeft(ctx context.Context, b *bench) error {
	if len(b.items) == 0 {
		return skip("nothing was made")
	}
	if err := b.removeAll(ctx); err != nil {
		return err
	}
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	seen, err := inspect(ctx, client)
	if err != nil {
		return err
	}
	for _, resource := range seen.resources {
		if !b.before[resource.GetKind()+" "+resource.GetId()] && resource.GetState() != providerpb.Resource_STATE_GONE {
			return fmt.Errorf("%s is left; it is for you to remove", shown(resource))
		}
	}
	return b.countedLeft(ctx)
}

// countedLeft holds what there is in the infrastructure against what there was: a plugin
// doesn't list what it doesn't know of.
func (b *bench) countedLeft(ctx context.Context) error {
	if b.options.Count == nil || b.countBefore < 0 {
		return nil
	}
	var now int
	err := until(ctx, b.options.Patience, func() (bool, error) {
		var err error
		now, err = b.options.Count(ctx)
		return now <= b.countBefore, err
	})
	if errors.Is(err, errTooLong) {
		return fmt.Errorf("the infrastructure has %d resources, and had %d before the run; Inspect doesn't list what is "+
			"left: list the volumes, addresses and whatever else an instance has, with its key, and remove them in "+
			"Terminate", now, b.countBefore)
	}
	return err
}
