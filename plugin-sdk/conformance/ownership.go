package conformance

import (
	"context"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var ownershipRules = []Rule{
	{
		Name: "tags-unchanged", check: tagsUnchanged, Creates: true,
		Says: "SIGNED: the tags come back byte for byte.",
	},
	{
		Name: "id-stays", check: idStays, Creates: true,
		Says: "The id that Provision answered is the one that Inspect lists, under the key.",
	},
	{
		Name: "assets-listed", check: assetsListed,
		Says: "ASSIGNED: the hosts that are free are listed as assets, with a stable id and their platform.",
	},
	{
		Name: "asset-held", check: assetHeld, Creates: true,
		Says: "ASSIGNED: a host that one key holds is refused to another.",
	},
	{
		Name: "survives-restart", check: survivesRestart, Creates: true,
		Says: "After a restart of the plugin the list has the same ids, keys and tags.",
	},
}

func (b *bench) owned(by providerpb.Ownership) error {
	if b.info == nil {
		return errNoInfo
	}
	if b.info.GetOwnership() != by {
		return skip("its ownership is %v", b.info.GetOwnership())
	}
	return nil
}

func tagsUnchanged(ctx context.Context, b *bench) error {
	if err := b.owned(providerpb.Ownership_OWNERSHIP_SIGNED); err != nil {
		return err
	}
	made, err := b.shared(ctx)
	if err != nil {
		return err
	}
	return sameTags(made.item.GetTags(), made.listed.GetTags())
}

func idStays(ctx context.Context, b *bench) error {
	made, err := b.shared(ctx)
	if err != nil {
		return err
	}
	if made.answered != "" && made.id != made.answered {
		return fmt.Errorf("the answer of Provision has the id %s, and Inspect lists %s", made.answered, shown(made.listed))
	}
	// Where a person joins the hosts, nothing but the manager has a key.
	if made.listed.GetKey() != made.item.GetKey() && !b.offers(providerpb.JoinService) {
		return fmt.Errorf("%s doesn't carry the key %s", shown(made.listed), made.item.GetKey())
	}
	return nil
}

func assetsListed(ctx context.Context, b *bench) error {
	if err := b.owned(providerpb.Ownership_OWNERSHIP_ASSIGNED); err != nil {
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
	listed := map[string]bool{}
	for _, resource := range seen.resources {
		if resource.GetKind() != providerpb.AssetKind {
			continue
		}
		listed[resource.GetId()] = true
		for _, tag := range []string{providerpb.AssetOS, providerpb.AssetArch} {
			if resource.GetTags()[tag] == "" {
				return fmt.Errorf("the asset %s has no tag %s", resource.GetId(), tag)
			}
		}
	}
	for _, asset := range b.free {
		if !listed[asset] {
			return fmt.Errorf("the asset %s is free, and isn't listed as one", asset)
		}
	}
	if len(listed) == 0 {
		return skip("it lists no asset at all, and none was named")
	}
	if err := b.restart(ctx); err != nil {
		return err
	}
	if client, err = b.ready(ctx); err != nil {
		return err
	}
	again, err := inspect(ctx, client)
	if err != nil {
		return err
	}
	for _, resource := range again.resources {
		delete(listed, resource.GetId())
	}
	for asset := range listed {
		return fmt.Errorf("the asset %s isn't listed any more after a restart of the plugin", asset)
	}
	return nil
}

func assetHeld(ctx context.Context, b *bench) error {
	if err := b.owned(providerpb.Ownership_OWNERSHIP_ASSIGNED); err != nil {
		return err
	}
	if b.offers(providerpb.JoinService) {
		return skip("a person joins its hosts: only the manager knows which key holds which")
	}
	made, err := b.shared(ctx)
	if err != nil {
		return err
	}
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	b.free = append([]string{made.item.GetAsset()}, b.free...)
	rival, err := b.newItem()
	if err != nil {
		return err
	}
	b.gone[rival.GetKey()] = true // the host isn't this key's to release
	answers, err := b.provision(ctx, client, rival)
	if err != nil {
		return err
	}
	if answer := answers[rival.GetKey()]; answer.GetOutcome() != providerpb.ProvisionResponse_OUTCOME_NOT_CREATED {
		return fmt.Errorf("the host %s is held by the key %s, and the key %s is answered with %s", made.item.GetAsset(),
			made.item.GetKey(), rival.GetKey(), said(answer))
	}
	return nil
}

func survivesRestart(ctx context.Context, b *bench) error {
	made, err := b.shared(ctx)
	if err != nil {
		return err
	}
	if err := b.restart(ctx); err != nil {
		return err
	}
	seen, err := b.lookFor(ctx, made.item)
	if err != nil {
		return err
	}
	found := seen.of(made.item)
	if len(found) != 1 {
		return fmt.Errorf("after a restart %d instances are listed for the key %s, and it made one", len(found),
			made.item.GetKey())
	}
	before, after := made.listed, found[0]
	switch {
	case after.GetId() != before.GetId() || after.GetKey() != before.GetKey():
		return fmt.Errorf("what was listed as %s is %s after a restart", shown(before), shown(after))
	case before.GetInstanceDigest() != "" && before.GetInstanceDigest() != after.GetInstanceDigest():
		return fmt.Errorf("the instance_digest was %q, and is %q after a restart", before.GetInstanceDigest(),
			after.GetInstanceDigest())
	}
	if err := sameTags(before.GetTags(), after.GetTags()); err != nil {
		return fmt.Errorf("after a restart: %w", err)
	}
	return nil
}
