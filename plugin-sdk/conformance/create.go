package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var createRules = []Rule{
	{
		Name: "creates", check: creates, Creates: true,
		Says: "Provision makes an instance, and Inspect lists it within list_settle.",
	},
	{
		Name: "same-key-in-sequence", check: sameKeyInSequence, Creates: true,
		Says: "The same request again gives the same instance, and says that it existed.",
	},
	{
		Name: "same-key-at-once", check: sameKeyAtOnce, Creates: true,
		Says: "The same request several times at once makes one instance, with one id.",
	},
	{
		Name: "every-item-answered", check: everyItemAnswered, Creates: true,
		Says: "Each item of a batch is answered once, and each key makes an instance of its own.",
	},
	{
		Name: "echoes", check: echoes, Creates: true,
		Says: "Inspect lists an instance with the fleet and the instance_digest of its request.",
	},
	{
		Name: "several-listed", check: severalListed, Creates: true,
		Says: "Inspect lists several instances at once, more of them than a page of the infrastructure has.",
	},
}

// creates is the only rule that tells that nothing can be made.
func creates(ctx context.Context, b *bench) error {
	_, err := b.shared(ctx)
	if reason, left := errors.AsType[leftOut](err); left {
		b.cannotCreate = string(reason)
	} else if err != nil {
		b.cannotCreate = "no instance can be made"
	}
	return err
}

// repeatable says why a request can't be sent twice.
func (b *bench) repeatable() error {
	if b.info.GetIdempotency() == providerpb.Idempotency_IDEMPOTENCY_NONE {
		return skip("its idempotency is IDEMPOTENCY_NONE: the host never sends a request twice")
	}
	return nil
}

func sameKeyInSequence(ctx context.Context, b *bench) error {
	if err := b.repeatable(); err != nil {
		return err
	}
	made, err := b.shared(ctx)
	if err != nil {
		return err
	}
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	answers, err := b.provision(ctx, client, made.item)
	if err != nil {
		return err
	}
	answer := answers[made.item.GetKey()]
	switch answer.GetOutcome() {
	case providerpb.ProvisionResponse_OUTCOME_EXISTED, providerpb.ProvisionResponse_OUTCOME_ACCEPTED:
	default:
		return fmt.Errorf("the same request again is answered with %s, and OUTCOME_EXISTED is true", said(answer))
	}
	if id := answer.GetResource().GetId(); id != "" && made.answered != "" && id != made.answered {
		return fmt.Errorf("the key %s gave %s first and %s now", made.item.GetKey(), made.answered, id)
	}
	return b.exactlyOne(ctx, made.item)
}

// exactlyOne holds the list against the one instance that a key may have. A
// second one may be listed late, so the settle time is waited for.
func (b *bench) exactlyOne(ctx context.Context, item *providerpb.ProvisionRequest_Item) error {
	seenOnce := false
	err := until(ctx, b.settle()+pollEvery, func() (bool, error) {
		seen, err := b.lookFor(ctx, item)
		if err != nil {
			return false, err
		}
		found := seen.of(item)
		if len(found) > 1 {
			return false, fmt.Errorf("the key %s has two instances, %s and %s", item.GetKey(), shown(found[0]), shown(found[1]))
		}
		seenOnce = seenOnce || len(found) == 1
		return seenOnce && b.settle() == 0, nil
	})
	if err != nil && !errors.Is(err, errTooLong) {
		return err
	}
	if !seenOnce {
		return fmt.Errorf("no instance of the key %s is listed", item.GetKey())
	}
	return nil
}

// atOnce is how many equal requests are sent at once.
const atOnce = 5

func sameKeyAtOnce(ctx context.Context, b *bench) error {
	if err := b.repeatable(); err != nil {
		return err
	}
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	item, err := b.newItem()
	if err != nil {
		return err
	}
	defer b.tidy(ctx, item)
	answers := make([]*providerpb.ProvisionResponse, atOnce)
	failures := make([]error, atOnce)
	var calls sync.WaitGroup
	for i := range atOnce {
		calls.Go(func() {
			all, err := b.provision(ctx, client, item)
			answers[i], failures[i] = all[item.GetKey()], err
		})
	}
	calls.Wait()
	id := ""
	for i, answer := range answers {
		if failures[i] != nil {
			return failures[i]
		}
		switch answer.GetOutcome() {
		case providerpb.ProvisionResponse_OUTCOME_CREATED, providerpb.ProvisionResponse_OUTCOME_EXISTED,
			providerpb.ProvisionResponse_OUTCOME_ACCEPTED:
		default:
			return fmt.Errorf("one of %d equal requests at once is answered with %s", atOnce, said(answer))
		}
		one := answer.GetResource().GetId()
		if id != "" && one != "" && one != id {
			return fmt.Errorf("the key %s gave both %s and %s", item.GetKey(), id, one)
		}
		if one != "" {
			id = one
		}
	}
	if id == "" {
		if _, err := b.created(ctx, item, answers[0]); err != nil {
			return err
		}
	}
	return b.exactlyOne(ctx, item)
}

// batchSize is how many instances the rules about batches ask for.
const batchSize = 3

func everyItemAnswered(ctx context.Context, b *bench) error {
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	items, err := b.newItems(batchSize)
	if err != nil {
		return err
	}
	defer b.tidy(ctx, items...)
	answers, err := b.provision(ctx, client, items...)
	if err != nil {
		return err
	}
	owner := map[string]string{}
	for _, item := range items {
		answer := answers[item.GetKey()]
		if answer == nil {
			return fmt.Errorf("the key %s of a batch of %d got no answer", item.GetKey(), len(items))
		}
		made, err := b.created(ctx, item, answer)
		if err != nil {
			return err
		}
		if other := owner[made.id]; other != "" {
			return fmt.Errorf("the keys %s and %s have the same instance %s", other, item.GetKey(), made.id)
		}
		owner[made.id] = item.GetKey()
	}
	return nil
}

// echoes asks for what the host recognizes drift by.
func echoes(ctx context.Context, b *bench) error {
	if b.offers(providerpb.JoinService) {
		return skip("a person joins its hosts: only the manager knows what they are for")
	}
	made, err := b.shared(ctx)
	if err != nil {
		return err
	}
	named := b.info.GetOwnership() == providerpb.Ownership_OWNERSHIP_NAMED
	if named && made.listed.GetFleet()+made.listed.GetInstanceDigest() == "" {
		return skip("its ownership is %v, and it keeps nothing of a request but its name", b.info.GetOwnership())
	}
	for _, field := range []struct{ name, sent, listed string }{
		{"fleet", fleetID, made.listed.GetFleet()},
		{"instance_digest", instanceDigest, made.listed.GetInstanceDigest()},
	} {
		if field.listed != field.sent {
			return fmt.Errorf("the request has %s %q, and Inspect lists %q: keep it with the instance, as a tag or a label",
				field.name, field.sent, field.listed)
		}
	}
	return nil
}

func severalListed(ctx context.Context, b *bench) error {
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	items, err := b.several(ctx, client)
	b.tidy(ctx, items...)
	return err
}

// several makes more instances than fit a page, as far as that is known, and waits until all
// of them are listed. Those that it asked for are given with an error, too: they are to be
// removed.
func (b *bench) several(ctx context.Context, client providerpb.ProviderClient) ([]*providerpb.ProvisionRequest_Item,
	error) {
	items, err := b.newItems(max(batchSize, b.options.PageSize+1))
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		answers, err := b.provision(ctx, client, item)
		if err != nil {
			return items, err
		}
		if _, err := b.created(ctx, item, answers[item.GetKey()]); err != nil {
			return items, fmt.Errorf("%w; read every page of the infrastructure's list", err)
		}
	}
	missing := ""
	err = until(ctx, b.settle()+pollEvery, func() (bool, error) {
		seen, err := inspect(ctx, client)
		missing = ""
		for _, item := range items {
			if len(seen.of(item)) == 0 {
				missing = item.GetKey()
			}
		}
		return missing == "", err
	})
	if errors.Is(err, errTooLong) {
		return items, fmt.Errorf("of %d instances Inspect doesn't list the one of the key %s: read every page of the list",
			len(items), missing)
	}
	return items, err
}
