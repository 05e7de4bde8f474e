package conformance

import (
	"context"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var foreignRules = []Rule{
	{
		Name: "foreign-unlisted", check: foreignUnlisted, Creates: true,
		Says: "Inspect lists nothing that belongs to another installation.",
	},
}

// foreignUnlisted looks with the eyes of another installation at what was made.
func foreignUnlisted(ctx context.Context, b *bench) error {
	if b.byAsset() {
		return skip("its instances are hosts of an inventory, which it lists for every installation")
	}
	if b.info.GetOwnership() == providerpb.Ownership_OWNERSHIP_NAMED {
		return skip("its ownership is OWNERSHIP_NAMED: whose a resource is, only the manager knows, by its name")
	}
	made, err := b.shared(ctx)
	if err != nil {
		return err
	}
	own := b.installation
	name, err := idText(b.options.Random, 10)
	if err != nil {
		return err
	}
	if err := b.stop(); err != nil {
		return err
	}
	b.installation = "kit-" + name
	defer func() {
		_ = b.stop() // what it says is kept
		b.installation = own
	}()
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	seen, err := inspect(ctx, client)
	if err != nil {
		return err
	}
	for _, resource := range seen.resources {
		if resource.GetId() == made.id || resource.GetKey() == made.item.GetKey() {
			return fmt.Errorf("as the installation %s it lists %s, which the installation %s made: list only what carries "+
				"the tag %s with Environment.Installation", b.installation, shown(resource), own, providerpb.TagInstallation)
		}
	}
	return nil
}
