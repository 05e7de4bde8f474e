package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

func (a *app) imageCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "image",
		Short: "Show images; pause, resume and roll back their rollouts",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.imageListCommand(), a.imageShowCommand(), a.imageRolloutCommand(), a.imageRollbackCommand())
	return c
}

func (a *app) imageListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the images of fleets and instances, with their states",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.look(c, func(ctx context.Context, look installation.Reader, _ string) error {
				images, err := look.Images(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(images)
				}
				a.page().Images(images)
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	return c
}

func (a *app) imageShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show IMAGE",
		Short: "Show an image: its name at each provider and its state in each fleet",
		Long:  "Show the images of a name, or the image of a digest (sha256:…). An old and a new image may share a name.",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.look(c, func(ctx context.Context, look installation.Reader, _ string) error {
				all, err := look.Images(ctx)
				if err != nil {
					return err
				}
				named := []view.ImageReport{}
				for _, i := range all {
					if i.Named(args[0]) {
						named = append(named, i)
					}
				}
				if len(named) == 0 {
					return fmt.Errorf("image %q not found; list the images with:\n  forgeyard-fleet image list", args[0])
				}
				if asJSON {
					return a.printJSON(named)
				}
				for n, i := range named {
					if n > 0 {
						a.printf("\n")
					}
					a.page().Image(i)
				}
				return nil
			})
		},
	}
	lookFlags(c, &asJSON)
	a.completes(c, a.imageNames, "", nil)
	return c
}

func (a *app) imageRolloutCommand() *cobra.Command {
	var flags overrideFlags
	var pause, resume bool
	var r orders.ResumeRequest
	c := &cobra.Command{
		Use:   "rollout FLEET|IMAGE --pause | --resume | --skip-soak",
		Short: "Pause or resume a rollout, or skip its soak time",
		Long: "Pause or resume the rollout of a fleet, or of every fleet that uses an image (image.NAME or sha256:…). " +
			"A rollout\n" +
			"starts by itself when an apply changes what instances are made from. While it is paused no instance is " +
			"replaced,\n" +
			"and missing instances are made from the last known good image; a pause survives restarts and applies. --resume\n" +
			"continues a rollout that was paused, halted or rolled back; unless it was only paused, it starts with a canary\n" +
			"again. --skip-soak resumes it and replaces the other instances without waiting for the canaries.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r.Subject, r.Reason = args[0], flags.reason
			question := fmt.Sprintf("Resume the rollout of %s?", args[0])
			if pause {
				question = ""
			}
			return a.orderRollout(
				c,
				flags,
				question,
				func(ctx context.Context, to installation.Orders) (orders.RolloutReceipt, error) {
					if pause {
						return to.PauseRollout(ctx, orders.RolloutRequest{Subject: r.Subject, Reason: r.Reason})
					}
					return to.ResumeRollout(ctx, r)
				},
			)
		},
	}
	flags.register(c, true, true)
	c.Flags().BoolVar(&pause, "pause", false, "pause the rollout until it is resumed")
	c.Flags().BoolVar(&resume, "resume", false, "resume a rollout that was paused, halted or rolled back")
	c.Flags().BoolVar(&r.SkipSoak, "skip-soak", false, "resume without waiting for the canaries")
	c.MarkFlagsOneRequired("pause", "resume", "skip-soak")
	for _, other := range []string{"resume", "skip-soak"} {
		c.MarkFlagsMutuallyExclusive("pause", other)
	}
	a.completes(c, a.rolloutSubjects, "", nil)
	return c
}

func (a *app) imageRollbackCommand() *cobra.Command {
	var flags overrideFlags
	c := &cobra.Command{
		Use:   "rollback FLEET|IMAGE",
		Short: "Return to the last known good image, whatever the file says",
		Long: "Have a fleet, or every fleet that uses an image (image.NAME or sha256:…), boot its last known good image. " +
			"Instances\n" +
			"of the file's image are replaced after their jobs, within the fleet's surge and unavailable limits and " +
			"without a\n" +
			"soak. The rollback holds until an apply changes the image or image rollout --resume; meanwhile plan, status and\n" +
			"explain show it.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			question := fmt.Sprintf("Roll %s back to the last known good image?", args[0])
			return a.orderRollout(
				c,
				flags,
				question,
				func(ctx context.Context, to installation.Orders) (orders.RolloutReceipt, error) {
					return to.RollBack(ctx, orders.RolloutRequest{Subject: args[0], Reason: flags.reason})
				},
			)
		},
	}
	flags.register(c, true, true)
	a.completes(c, a.rolloutSubjects, "", nil)
	return c
}

// orderRollout asks where there is a question, and has the manager that runs, or
// else the state directory, keep the word.
func (a *app) orderRollout(c *cobra.Command, flags overrideFlags, question string,
	give func(context.Context, installation.Orders) (orders.RolloutReceipt, error)) error {
	check := func(ctx context.Context, look installation.Reader) error {
		_, err := give(ctx, look.CheckOrders())
		return err
	}
	if yes, err := a.agreed(c, flags, check, question); err != nil || !yes {
		return err
	}
	return a.withService(c, func(ctx context.Context, s installation.Service) error {
		receipt, err := give(ctx, s.Orders())
		if err != nil {
			return err
		}
		if flags.asJSON {
			return a.printJSON(receipt)
		}
		changed := false
		for _, f := range receipt.Fleets {
			a.printf("%s: %s.\n", f.Fleet, f.Done)
			changed = changed || f.Changed
		}
		if !receipt.Loop && changed {
			a.printf("No manager is running. The next one will apply this.\n")
		}
		return nil
	})
}

// agreed asks for confirmation, unless there is nothing to ask or --auto-approve was
// given. A request that would be refused is refused before the question, so that no
// answer is wasted; a nil check can't tell. A declined question is an error.
func (a *app) agreed(
	c *cobra.Command,
	flags overrideFlags,
	check func(context.Context, installation.Reader) error,
	question string,
) (bool, error) {
	if question == "" || flags.autoApprove {
		return true, nil
	}
	if flags.asJSON {
		return false, errors.New("--json can't ask for confirmation; pass --auto-approve")
	}
	if check != nil {
		if err := a.look(
			c,
			func(ctx context.Context, look installation.Reader, _ string) error { return check(ctx, look) },
		); err != nil {
			return false, err
		}
	}
	yes, err := a.confirm(c.Context(), question)
	if err != nil || yes {
		return yes, err
	}
	a.printf("Nothing was changed.\n")
	return false, exitStatus(exitDeclined)
}

func (a *app) imageNames(ctx context.Context, look installation.Reader) ([]string, error) {
	images, err := look.Images(ctx)
	var found []string
	for _, i := range images {
		if i.Name != "" {
			found = append(found, fmt.Sprintf("image.%s\t%s, %s", i.Name, i.State, render.ShortDigest(i.Digest)))
		}
		if i.Digest != "" {
			found = append(found, fmt.Sprintf("%s\t%s, %s", i.Digest, i.State, render.OrDash(i.Name)))
		}
	}
	return found, err
}

// rolloutSubjects are the fleets and then the images.
func (a *app) rolloutSubjects(ctx context.Context, look installation.Reader) ([]string, error) {
	fleets, err := a.fleetNames(ctx, look)
	if err != nil {
		return nil, err
	}
	images, err := a.imageNames(ctx, look)
	return append(fleets, images...), err
}
