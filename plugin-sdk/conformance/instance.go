package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// instance is one that the kit made.
type instance struct {
	item *providerpb.ProvisionRequest_Item
	// answered is the id of the answer; empty: it had none yet. id is the list's.
	answered, id string
	// listed is how it was listed first.
	listed *providerpb.Resource
}

func (i *instance) ref() *providerpb.Ref {
	return &providerpb.Ref{Id: i.id, Key: i.item.GetKey()}
}

// create makes one instance and waits until it is listed with an id.
func (b *bench) create(ctx context.Context) (*instance, error) {
	item, err := b.newItem()
	if err != nil {
		return nil, err
	}
	client, err := b.ready(ctx)
	if err != nil {
		return nil, err
	}
	answers, err := b.provision(ctx, client, item)
	if err != nil {
		return nil, err
	}
	return b.created(ctx, item, answers[item.GetKey()])
}

// created takes the answer to a create and waits until the list shows it.
func (b *bench) created(ctx context.Context, item *providerpb.ProvisionRequest_Item,
	answer *providerpb.ProvisionResponse) (*instance, error) {
	resource := answer.GetResource()
	made := &instance{item: item, answered: resource.GetId()}
	switch outcome := answer.GetOutcome(); {
	case outcome == providerpb.ProvisionResponse_OUTCOME_ACCEPTED:
	case outcome == providerpb.ProvisionResponse_OUTCOME_EXISTED && item.GetAsset() == "":
		return nil, fmt.Errorf("a key that was never used before is answered with %s", said(answer))
	case outcome != providerpb.ProvisionResponse_OUTCOME_CREATED &&
		outcome != providerpb.ProvisionResponse_OUTCOME_EXISTED:
		return nil, fmt.Errorf("the instance wasn't made: %s", said(answer))
	case made.answered == "":
		return nil, fmt.Errorf("the answer %s names no id", said(answer))
	}
	if resource.GetKey() != "" && resource.GetKey() != item.GetKey() {
		return nil, fmt.Errorf("the answer for the key %s names a resource of the key %s", item.GetKey(), resource.GetKey())
	}
	limit := b.settle() + pollEvery
	if answer.GetOutcome() == providerpb.ProvisionResponse_OUTCOME_ACCEPTED {
		limit += b.options.Patience
	}
	var last look
	err := until(ctx, limit, func() (bool, error) {
		var err error
		if last, err = b.lookFor(ctx, item); err != nil {
			return false, err
		}
		found := last.of(item)
		if len(found) > 1 {
			return false,
				fmt.Errorf("one request for the key %s made %d: %s and %s", item.GetKey(), len(found), shown(found[0]),
					shown(found[1]))
		}
		if len(found) == 1 && found[0].GetId() != "" {
			made.listed = clone(found[0])
		}
		return made.listed != nil, nil
	})
	if errors.Is(err, errTooLong) {
		return nil, fmt.Errorf("it was answered with %s, and %s later the list doesn't show it (list_settle is %s)",
			said(answer), limit, b.settle())
	}
	if err != nil {
		return nil, err
	}
	made.id = made.listed.GetId()
	return made, nil
}

// shared is the instance that several rules look at.
func (b *bench) shared(ctx context.Context) (*instance, error) {
	if b.first == nil {
		made, err := b.create(ctx)
		if err != nil {
			return nil, err
		}
		b.first = made
	}
	return b.first, nil
}

// concluded waits until it is certain what became of items whose call was cut
// off, and gives those that exist. That one of them is surely absent is held
// against every later list.
func (b *bench) concluded(ctx context.Context, items []*providerpb.ProvisionRequest_Item) (
	[]*providerpb.ProvisionRequest_Item, error) {
	var exist []*providerpb.ProvisionRequest_Item
	for _, item := range items {
		exists, err := b.conclude(ctx, item)
		if err != nil {
			return exist, err
		}
		if exists {
			exist = append(exist, item)
		}
	}
	return exist, nil
}

func (b *bench) conclude(ctx context.Context, item *providerpb.ProvisionRequest_Item) (exists bool, err error) {
	flying := true
	err = until(ctx, b.options.Patience, func() (bool, error) {
		seen, err := b.lookFor(ctx, item)
		if err != nil {
			return false, err
		}
		exists, flying = len(seen.of(item)) > 0, seen.inFlight[item.GetKey()]
		return exists || !flying, nil
	})
	if errors.Is(err, errTooLong) {
		return false, fmt.Errorf("the key %s has been in flight for %s", item.GetKey(), b.options.Patience)
	}
	if err != nil || exists || b.settle() == 0 {
		return exists, err
	}
	// The list may lag: only the settle time makes absence certain.
	err = until(ctx, b.settle(), func() (bool, error) {
		seen, err := b.lookFor(ctx, item)
		exists = err == nil && len(seen.of(item)) > 0
		return exists, err
	})
	if errors.Is(err, errTooLong) {
		err = nil
	}
	return exists, err
}

// remove ends what an item made, then what belonged to it, and waits until the
// list no longer shows any of it. It asks for one at a time, as the manager does.
func (b *bench) remove(ctx context.Context, item *providerpb.ProvisionRequest_Item) error {
	if b.gone[item.GetKey()] {
		return nil
	}
	last, asked := "it was never asked", false
	err := until(ctx, b.options.Patience+b.settle(), func() (bool, error) {
		seen, err := b.lookFor(ctx, item)
		if err != nil {
			return false, err
		}
		ref := left(seen, item)
		if ref == nil && asked {
			return true, nil // what it answers about what isn't there is another rule's business
		}
		if ref == nil {
			ref = &providerpb.Ref{Key: item.GetKey(), Id: item.GetAsset()}
		}
		answers, err := b.terminate(ctx, ref)
		if err != nil {
			return false, err
		}
		last = endOf(answers[0])
		asked = item.GetAsset() == "" || answers[0].GetOutcome() == providerpb.TerminateResponse_OUTCOME_GONE
		return false, nil
	})
	if errors.Is(err, errTooLong) {
		return fmt.Errorf("what the key %s made is not gone after %s; the last answer is %s", item.GetKey(),
			b.options.Patience, last)
	}
	if err != nil {
		return fmt.Errorf("remove what the key %s made: %w", item.GetKey(), err)
	}
	b.gone[item.GetKey()] = true
	if item.GetAsset() != "" {
		b.free = append(b.free, item.GetAsset())
	}
	return nil
}

// left is what is still listed of an item: the instance first; nil: nothing.
func left(seen look, item *providerpb.ProvisionRequest_Item) *providerpb.Ref {
	if item.GetAsset() != "" {
		return nil // the host stays
	}
	remaining := seen.of(item)
	for _, one := range seen.resources {
		if one.GetKey() == item.GetKey() && one.GetState() != providerpb.Resource_STATE_GONE {
			remaining = append(remaining, one)
		}
	}
	if len(remaining) == 0 {
		return nil
	}
	return &providerpb.Ref{Id: remaining[0].GetId(), Key: remaining[0].GetKey()}
}

// tidy begins to remove what a rule made: waiting for it is the business of the
// last rule, but for assets, which the next rule needs.
func (b *bench) tidy(ctx context.Context, items ...*providerpb.ProvisionRequest_Item) {
	for _, item := range items {
		if item.GetAsset() != "" {
			_ = b.remove(ctx, item) // told by the last rule
			continue
		}
		if seen, err := b.lookFor(ctx, item); err == nil {
			if ref := left(seen, item); ref != nil {
				_, _ = b.terminate(ctx, ref)
			}
		}
	}
}

// removeAll ends whatever the run may have made.
func (b *bench) removeAll(ctx context.Context) error {
	var failed []error
	for _, item := range b.items {
		if err := b.remove(ctx, item); err != nil {
			failed = append(failed, err)
		}
	}
	b.first = nil
	return errors.Join(failed...)
}
