package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var batchRules = []Rule{
	{
		Name: "batches-declared", check: batchesDeclared,
		Says: "A plugin that makes batches verifies identities, and its infrastructure knows a call that comes again.",
	},
	{
		Name: "batch-creates", check: batchCreates, Creates: true,
		Says: "ProvisionBatch makes an instance for each member, which Inspect lists under its own key and with " +
			"its own tags.",
	},
	{
		Name: "same-batch-in-sequence", check: sameBatchInSequence, Creates: true,
		Says: "The same batch again gives the same instances.",
	},
	{
		Name: "same-batch-at-once", check: sameBatchAtOnce, Creates: true,
		Says: "The same batch several times at once makes each member once.",
	},
	{
		Name: "batch-cut-after-request", check: batchCutAfterRequest, Creates: true,
		Says: "Killed after a batch, a plugin leaves all of it or certainly nothing, and the same batch again gives each " +
			"member once.",
	},
	{
		Name: "batch-creates-nothing-twice", check: batchCreatesNothingTwice, Creates: true,
		Says: "The same batch again makes no instance in the place of one that is gone.",
	},
}

// batches says why there are none to be made.
func (b *bench) batches() error {
	if b.info == nil {
		return errNoInfo
	}
	if !b.offers(providerpb.BatchService) {
		return skip("GetInfo doesn't name %q", providerpb.BatchService)
	}
	return nil
}

func batchesDeclared(_ context.Context, b *bench) error {
	if err := b.batches(); err != nil {
		return err
	}
	switch {
	case !b.offers(providerpb.IdentityService):
		return fmt.Errorf(
			"it names %q and not %q: the hosts of a batch share one token, and nothing else could tell them apart",
			providerpb.BatchService, providerpb.IdentityService)
	case b.info.GetIdempotency() != providerpb.Idempotency_IDEMPOTENCY_NATIVE:
		return fmt.Errorf(
			"it names %q, and its idempotency is %v: only an infrastructure that knows a call that comes again makes "+
				"a batch once", providerpb.BatchService, b.info.GetIdempotency())
	}
	return nil
}

// kitBatch is a batch of the run, and its members as the other rules know them.
type kitBatch struct {
	request *providerpb.ProvisionBatchRequest
	items   []*providerpb.ProvisionRequest_Item
}

func (b *bench) newBatch() (kitBatch, error) {
	if err := b.batches(); err != nil {
		return kitBatch{}, err
	}
	key, err := idText(b.options.Random, 26)
	if err != nil {
		return kitBatch{}, err
	}
	items, err := b.newItems(batchSize)
	if err != nil {
		return kitBatch{}, err
	}
	request := proto.CloneOf(b.request(items...))
	for _, item := range request.Items {
		item.Bootstrap = nil
	}
	return kitBatch{&providerpb.ProvisionBatchRequest{Key: key, Request: request, Bootstrap: items[0].GetBootstrap()},
		items}, nil
}

// provisionBatch sends the batch and gives the answers by key.
func (b *bench) provisionBatch(ctx context.Context, batch kitBatch) (map[string]*providerpb.ProvisionResponse, error) {
	if _, err := b.ready(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, provisionCall)
	defer cancel()
	answers := map[string]*providerpb.ProvisionResponse{}
	stream, err := providerpb.NewBatchProvisionerClient(b.running.Connection()).ProvisionBatch(ctx, batch.request)
	err = receiveAll(stream, err, func(answer *providerpb.ProvisionResponse) error {
		if answers[answer.GetKey()] != nil {
			return fmt.Errorf("the key %s is answered twice", answer.GetKey())
		}
		answers[answer.GetKey()] = answer
		return nil
	})
	if err != nil {
		return answers, fmt.Errorf("provision a batch: %w", err)
	}
	for _, item := range batch.items {
		if answers[item.GetKey()] == nil {
			return answers, fmt.Errorf("the member %s of a batch of %d got no answer", item.GetKey(), len(batch.items))
		}
	}
	return answers, nil
}

// createBatch makes a batch and waits until each member is listed.
func (b *bench) createBatch(ctx context.Context) (kitBatch, []*instance, error) {
	batch, err := b.newBatch()
	if err != nil {
		return batch, nil, err
	}
	answers, err := b.provisionBatch(ctx, batch)
	if err != nil {
		return batch, nil, err
	}
	var all []*instance
	owner := map[string]string{}
	for _, item := range batch.items {
		made, err := b.created(ctx, item, answers[item.GetKey()])
		if err != nil {
			return batch, all, err
		}
		if other := owner[made.id]; other != "" {
			return batch, all, fmt.Errorf("the members %s and %s have the same instance %s", other, item.GetKey(), made.id)
		}
		owner[made.id] = item.GetKey()
		all = append(all, made)
	}
	return batch, all, nil
}

func batchCreates(ctx context.Context, b *bench) error {
	batch, made, err := b.createBatch(ctx)
	defer b.tidy(ctx, batch.items...)
	if err != nil {
		return err
	}
	if b.info.GetOwnership() != providerpb.Ownership_OWNERSHIP_SIGNED {
		return nil
	}
	for _, one := range made {
		for name, value := range one.item.GetTags() {
			if got := one.listed.GetTags()[name]; got != value {
				return fmt.Errorf(
					"the member %s is listed with the tag %s = %q, and its own is %q: tags that all of a batch have prove "+
						"nothing of one", one.item.GetKey(), name, got, value)
			}
		}
	}
	return nil
}

// sameInstances says what is wrong where answers name others than were made.
func sameInstances(made []*instance, answers map[string]*providerpb.ProvisionResponse) error {
	for _, one := range made {
		answer := answers[one.item.GetKey()]
		switch answer.GetOutcome() {
		case providerpb.ProvisionResponse_OUTCOME_CREATED, providerpb.ProvisionResponse_OUTCOME_EXISTED,
			providerpb.ProvisionResponse_OUTCOME_ACCEPTED:
		default:
			return fmt.Errorf("the same batch again is answered with %s", said(answer))
		}
		if id := answer.GetResource().GetId(); id != "" && id != one.id {
			return fmt.Errorf("the member %s was %s first and is %s now", one.item.GetKey(), one.id, id)
		}
	}
	return nil
}

func sameBatchInSequence(ctx context.Context, b *bench) error {
	batch, made, err := b.createBatch(ctx)
	defer b.tidy(ctx, batch.items...)
	if err != nil {
		return err
	}
	answers, err := b.provisionBatch(ctx, batch)
	if err != nil {
		return err
	}
	if err := sameInstances(made, answers); err != nil {
		return err
	}
	return b.eachOnce(ctx, batch)
}

func (b *bench) eachOnce(ctx context.Context, batch kitBatch) error {
	for _, item := range batch.items {
		if err := b.exactlyOne(ctx, item); err != nil {
			return err
		}
	}
	return b.nothingUnexplained(ctx)
}

func sameBatchAtOnce(ctx context.Context, b *bench) error {
	batch, err := b.newBatch()
	if err != nil {
		return err
	}
	defer b.tidy(ctx, batch.items...)
	if _, err := b.ready(ctx); err != nil {
		return err
	}
	answers := make([]map[string]*providerpb.ProvisionResponse, atOnce)
	failures := make([]error, atOnce)
	var calls sync.WaitGroup
	for i := range atOnce {
		calls.Go(func() { answers[i], failures[i] = b.provisionBatch(ctx, batch) })
	}
	calls.Wait()
	ids := map[string]string{}
	for i := range answers {
		if failures[i] != nil {
			return failures[i]
		}
		for _, item := range batch.items {
			answer := answers[i][item.GetKey()]
			one := &instance{item: item, id: ids[item.GetKey()]}
			if one.id == "" {
				one.id = answer.GetResource().GetId()
				ids[item.GetKey()] = one.id
			}
			if err := sameInstances([]*instance{one}, answers[i]); err != nil {
				return err
			}
		}
	}
	return b.eachOnce(ctx, batch)
}

func batchCutAfterRequest(ctx context.Context, b *bench) error {
	batch, err := b.newBatch()
	if err != nil {
		return err
	}
	defer b.tidy(ctx, batch.items...)
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	calling, give := context.WithCancel(ctx)
	defer give()
	stream, err := providerpb.NewBatchProvisionerClient(b.running.Connection()).ProvisionBatch(calling, batch.request)
	if err != nil {
		return fmt.Errorf("provision a batch: %w", err)
	}
	first := batch.items[0]
	err = until(ctx, shortCall, func() (bool, error) { // once it is under way, or over
		seen, err := inspect(ctx, client, first.GetKey())
		return seen.inFlight[first.GetKey()] || len(seen.of(first)) > 0, err
	})
	if err != nil && !errors.Is(err, errTooLong) {
		return err
	}
	b.kill()
	_, _ = stream.Recv() // whatever it is, it came too late to count
	exist, err := b.concluded(ctx, batch.items)
	if err != nil {
		return err
	}
	if n := len(exist); n > 0 && n < len(batch.items) {
		return fmt.Errorf("of a batch of %d whose answer was lost, %d exist: a batch is made whole or not at all",
			len(batch.items), n)
	}
	if _, err := b.provisionBatch(ctx, batch); err != nil {
		return err
	}
	return b.eachOnce(ctx, batch)
}

func batchCreatesNothingTwice(ctx context.Context, b *bench) error {
	batch, made, err := b.createBatch(ctx)
	defer b.tidy(ctx, batch.items...)
	if err != nil {
		return err
	}
	gone := made[0].item
	if err := b.remove(ctx, gone); err != nil {
		return err
	}
	_, _ = b.provisionBatch(ctx, batch) // of one that is gone, any answer is true that names no other
	delete(b.gone, gone.GetKey())
	there, err := b.conclude(ctx, gone)
	if err != nil {
		return err
	}
	if there {
		return fmt.Errorf("the member %s was removed, and the same batch again made another", gone.GetKey())
	}
	return nil
}
