package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
)

// instanceNamed is the instance of an argument, which may be the beginning or the end
// of its id, as events shows it. It is found before anything is asked, so that the
// question is about the whole id. Who may decide and not look gives the whole id.
func (a *app) instanceNamed(c *cobra.Command, word string) (id fleet.CapacityInstanceID, err error) {
	if whole := strings.ToLower(word); fleet.ValidULID(whole) {
		return fleet.CapacityInstanceID(whole), nil
	}
	err = a.look(c, func(ctx context.Context, look installation.Reader, _ string) error {
		i, err := look.Instance(ctx, word)
		id = i.ID
		return err
	})
	if _, denied := errors.AsType[*access.DeniedError](err); denied {
		return fleet.CapacityInstanceID(word), nil
	}
	return id, err
}
