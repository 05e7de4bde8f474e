package conformance

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var interruptionRules = []Rule{
	{
		Name: "cut-after-request", check: cutAfterRequest, Creates: true,
		Says: "Torn off after a request, a plugin leaves what the next one finds by its key, or surely nothing.",
	},
	{
		Name: "cancel-in-mid-batch", check: cancelInMidBatch, Creates: true,
		Says: "Of a batch that the host gives up, each item is found or surely absent, and nothing else is made.",
	},
	{
		Name: "drain-in-mid-batch", check: drainInMidBatch, Creates: true,
		Says: "Drain begins nothing new; each item under way is answered, or found later.",
	},
}

// A plugin is torn off as soon as it has the request, and once more a moment
// later, when it is in the middle of the work.
func cutAfterRequest(ctx context.Context, b *bench) error {
	for _, early := range []bool{true, false} {
		item, err := b.newItem()
		if err != nil {
			return err
		}
		if err := b.cut(ctx, item, early); err != nil {
			return err
		}
		b.tidy(ctx, item)
	}
	return nil
}

func (b *bench) cut(ctx context.Context, item *providerpb.ProvisionRequest_Item, early bool) error {
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	calling, give := context.WithCancel(ctx)
	defer give()
	stream, err := client.Provision(calling, b.request(item))
	if err != nil {
		return fmt.Errorf("provision: %w", err)
	}
	if !early {
		// A call that is in flight, or is over, is one that has begun.
		err := until(ctx, shortCall, func() (bool, error) {
			seen, err := inspect(ctx, client, item.GetKey())
			return seen.inFlight[item.GetKey()] || len(seen.of(item)) > 0 || item.GetAsset() != "", err
		})
		if err != nil && !errors.Is(err, errTooLong) {
			return err
		}
	}
	b.kill()
	_, _ = stream.Recv() // whatever it is, it came too late to count
	return b.accountFor(ctx, []*providerpb.ProvisionRequest_Item{item})
}

// accountFor waits until it is certain what became of the items, and finds what
// no key explains.
func (b *bench) accountFor(ctx context.Context, items []*providerpb.ProvisionRequest_Item) error {
	exist, err := b.concluded(ctx, items)
	if err != nil {
		return err
	}
	for _, item := range exist {
		if err := b.exactlyOne(ctx, item); err != nil {
			return err
		}
	}
	return b.nothingUnexplained(ctx)
}

// nothingUnexplained lists everything: what is new must carry a key of this run.
func (b *bench) nothingUnexplained(ctx context.Context) error {
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	seen, err := inspect(ctx, client)
	if err != nil {
		return err
	}
	ours, instances := map[string]bool{}, map[string]string{}
	for _, item := range b.items {
		ours[item.GetKey()] = true
	}
	for _, resource := range seen.resources {
		switch {
		case b.before[resource.GetKind()+" "+resource.GetId()], b.told[resource.GetKind()+" "+resource.GetId()]:
		case resource.GetKind() == providerpb.AssetKind, resource.GetState() == providerpb.Resource_STATE_GONE:
		case !ours[resource.GetKey()] && resource.GetBelongsTo() == "":
			return fmt.Errorf("%s is new, and no key of this run explains it", shown(resource))
		case resource.GetBelongsTo() == "" && (resource.GetKind() == "" || resource.GetKind() == "instance"):
			if other := instances[resource.GetKey()]; other != "" {
				return fmt.Errorf("the key %s has two instances, %s and %s", resource.GetKey(), other, resource.GetId())
			}
			instances[resource.GetKey()] = resource.GetId()
		}
	}
	return nil
}

func cancelInMidBatch(ctx context.Context, b *bench) error {
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	items, err := b.newItems(batchSize)
	if err != nil {
		return err
	}
	defer b.tidy(ctx, items...)
	calling, give := context.WithCancel(ctx)
	defer give()
	stream, err := client.Provision(calling, b.request(items...))
	if err != nil {
		return fmt.Errorf("provision: %w", err)
	}
	// In the middle is after the first answer.
	if _, err := stream.Recv(); err != nil {
		return fmt.Errorf("provision: %w", err)
	}
	give()
	for err == nil {
		_, err = stream.Recv()
	}
	if code := status.Code(err); code == codes.Unavailable {
		return fmt.Errorf("the host gave the call up, and the plugin's connection broke: %w", err)
	}
	return b.accountFor(ctx, items)
}

func drainInMidBatch(ctx context.Context, b *bench) error {
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	items, err := b.newItems(batchSize)
	if err != nil {
		return err
	}
	defer b.tidy(ctx, items...)
	// The call continues while the plugin is told to begin nothing new.
	type ended struct {
		answers map[string]*providerpb.ProvisionResponse
		err     error
	}
	call := make(chan ended, 1)
	go func() {
		answers, err := b.provision(ctx, client, items...)
		call <- ended{answers, err}
	}()
	drained := b.drain(ctx)
	under := <-call
	if drained != nil {
		return drained
	}
	late, err := b.sendLate(ctx, client)
	if err != nil {
		return err
	}
	if err := b.restart(ctx); err != nil { // a drained plugin serves no more
		return err
	}
	for _, item := range items {
		if err := b.answeredOrFound(ctx, item, under.answers[item.GetKey()]); err != nil {
			return err
		}
	}
	if late != nil {
		exists, err := b.conclude(ctx, late)
		if err != nil {
			return err
		}
		if exists && late.GetAsset() == "" {
			b.tidy(ctx, late)
			return fmt.Errorf("after Drain the plugin began to make something for the key %s", late.GetKey())
		}
	}
	return b.nothingUnexplained(ctx)
}

// sendLate asks a drained plugin for one more, which it may not begin.
func (b *bench) sendLate(
	ctx context.Context, client providerpb.ProviderClient,
) (*providerpb.ProvisionRequest_Item, error) {
	item, err := b.newItem()
	if _, none := errors.AsType[leftOut](err); none {
		return nil, nil // every asset is in use
	}
	if err != nil {
		return nil, err
	}
	answers, _ := b.provision(ctx, client, item) // an error is a refusal, too
	if answer := answers[item.GetKey()]; answer.GetResource() != nil ||
		answer.GetOutcome() == providerpb.ProvisionResponse_OUTCOME_CREATED {
		return nil, errors.Join(fmt.Errorf("after Drain a new request is answered with %s", said(answer)), b.restart(ctx))
	}
	return item, nil
}

// answeredOrFound holds the answer to an item against what is there.
func (b *bench) answeredOrFound(ctx context.Context, item *providerpb.ProvisionRequest_Item,
	answer *providerpb.ProvisionResponse) error {
	exists, err := b.conclude(ctx, item)
	if err != nil || item.GetAsset() != "" {
		return err
	}
	switch outcome := answer.GetOutcome(); {
	case outcome == providerpb.ProvisionResponse_OUTCOME_NOT_CREATED && exists:
		return fmt.Errorf("the key %s is answered with %s, and an instance of it is listed", item.GetKey(), said(answer))
	case outcome == providerpb.ProvisionResponse_OUTCOME_CREATED && !exists:
		return fmt.Errorf("the key %s is answered with %s, and no instance of it is listed", item.GetKey(), said(answer))
	case answer == nil && !exists:
		return fmt.Errorf("the key %s was under way when the plugin was drained: it is neither answered nor found",
			item.GetKey())
	}
	return nil
}
