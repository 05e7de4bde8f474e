package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// matter is what a command decides about. One of the fields is set; none: it can't
// be looked for beforehand.
type matter struct {
	fleet    string
	instance fleet.CapacityInstanceID
	image    string
}

// isThere fails where what a person is about to be asked about doesn't exist: nobody
// should think about a question, answer it, and hear then that it was a slip of the
// keyboard. Who may decide and not look is asked all the same.
func (a *app) isThere(c *cobra.Command, s matter) error {
	if s == (matter{}) {
		return nil
	}
	err := a.look(c, func(ctx context.Context, look control.Reader, _ string) error { return s.find(ctx, look) })
	if _, denied := errors.AsType[*control.DeniedError](err); denied {
		return nil
	}
	return err
}

func (s matter) find(ctx context.Context, look control.Reader) error {
	switch {
	case s.instance != "":
		_, err := look.Instance(ctx, string(s.instance))
		return err
	case s.image != "":
		images, err := look.Images(ctx)
		named := slices.ContainsFunc(images, func(i view.ImageReport) bool { return i.Named(s.image) })
		// A digest may be known before anything is made from it.
		if err == nil && !named && !strings.HasPrefix(s.image, "sha256:") {
			return &control.NotFoundError{Kind: "image", ID: s.image}
		}
		return err
	}
	fleets, err := look.Fleets(ctx)
	there := func(f view.Fleet) bool {
		return string(f.Address) == s.fleet || f.Address.Name() == s.fleet || string(f.ID) == s.fleet
	}
	if err == nil && !slices.ContainsFunc(fleets, there) {
		return &control.NotFoundError{Kind: "fleet", ID: s.fleet}
	}
	return err
}

// rolledOut is what a word about rollouts is about.
func rolledOut(word string) matter {
	if strings.HasPrefix(word, "image.") || strings.HasPrefix(word, "sha256:") {
		return matter{image: word}
	}
	return matter{fleet: word}
}

// instanceNamed is the instance of an argument, which may be the beginning or the end
// of its id, as events shows it. It is found before anything is asked, so that the
// question is about the whole id. Who may decide and not look gives the whole id.
func (a *app) instanceNamed(c *cobra.Command, word string) (id fleet.CapacityInstanceID, err error) {
	if whole := strings.ToLower(word); fleet.ValidULID(whole) {
		return fleet.CapacityInstanceID(whole), nil
	}
	err = a.look(c, func(ctx context.Context, look control.Reader, _ string) error {
		i, err := look.Instance(ctx, word)
		id = i.ID
		return err
	})
	if _, denied := errors.AsType[*control.DeniedError](err); denied {
		return fleet.CapacityInstanceID(word), nil
	}
	return id, err
}
