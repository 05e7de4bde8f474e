package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var listRules = []Rule{
	{
		Name: "list-before-configure", check: listBeforeConfigure,
		Says: "Inspect of a plugin that isn't configured ends in an error, not in an empty list.",
	},
	{
		Name: "configures", check: configures,
		Says: "Configure takes the provider block.",
	},
	{
		Name: "list-consistent", check: listConsistent,
		Says: "Inspect lists each resource once with an id, and doesn't find or expect what was never made.",
	},
	{
		Name: "incomplete-list", check: incompleteList,
		Says: "Inspect ends in an error where it can't see everything.",
	},
}

func listBeforeConfigure(ctx context.Context, b *bench) error {
	if b.info == nil {
		return errNoInfo
	}
	running, err := b.fresh(ctx, false)
	if err != nil {
		return err
	}
	if seen, err := inspect(ctx, providerpb.NewProviderClient(running.Connection())); err == nil {
		return fmt.Errorf("it gives a complete list of %d resources before it knows where to look", len(seen.resources))
	}
	return nil
}

// configures comes before everything that needs a configured plugin, and is the
// only one that tells why there is none.
func configures(ctx context.Context, b *bench) error {
	if b.info == nil {
		b.cannotConfigure = string(errNoInfo)
		return errNoInfo
	}
	client, err := b.ready(ctx)
	if err != nil {
		b.cannotConfigure = "the plugin couldn't be configured"
		b.cannotCreate = b.cannotConfigure
		return err
	}
	if b.options.Count != nil {
		if b.countBefore, err = b.options.Count(ctx); err != nil {
			return skip("what there is in the infrastructure couldn't be counted: %v", err)
		}
	}
	seen, err := inspect(ctx, client)
	if err != nil {
		return nil // the next rule's business
	}
	b.before = map[string]bool{}
	for _, resource := range seen.resources {
		b.before[resource.GetKind()+" "+resource.GetId()] = true
	}
	return nil
}

func listConsistent(ctx context.Context, b *bench) error {
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	if _, err := inspect(ctx, client); err != nil {
		return err
	}
	never, err := idText(b.options.Random, 26)
	if err != nil {
		return err
	}
	seen, err := inspect(ctx, client, never)
	switch {
	case err != nil:
		return err
	case seen.inFlight[never]:
		return fmt.Errorf("the key %s was never sent, and is said to be in flight", never)
	}
	for _, resource := range seen.resources {
		if resource.GetKey() == never {
			return fmt.Errorf("the key %s was never sent, and %s is listed for it", never, shown(resource))
		}
	}
	return nil
}

func incompleteList(ctx context.Context, b *bench) (err error) {
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	if b.options.Outage == nil {
		return skip("no outage is described, so the infrastructure can't be made unreachable")
	}
	if _, err := inspect(ctx, client); err != nil {
		return skip("without an outage the list fails already")
	}
	mend, err := b.options.Outage(ctx)
	if err != nil {
		return skip("the outage couldn't be begun: %v", err)
	}
	defer func() {
		if mendErr := mend(context.WithoutCancel(ctx)); mendErr != nil {
			err = errors.Join(err, fmt.Errorf("end the outage: %w", mendErr))
		}
	}()
	if seen, err := inspect(ctx, client); err == nil {
		return fmt.Errorf(
			"while the infrastructure is unreachable it gives a complete list of %d resources: the host takes all "+
				"others for gone", len(seen.resources))
	}
	return nil
}
