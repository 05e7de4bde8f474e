package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/argument"
	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

func (a *app) freezeCommand() *cobra.Command {
	var flags overrideFlags
	var provider string
	var scaleUpOnly, clear bool
	c := &cobra.Command{
		Use:   "freeze FLEET | --provider NAME [--clear]",
		Short: "Stop all starts and removals of a fleet or provider until the freeze is cleared",
		Long: "Freeze a fleet, or all fleets and instances of a provider. No call that starts or removes an " +
			"instance is sent\n" +
			"while the freeze holds, whatever its cause, including drains that were requested. Calls already sent are\n" +
			"completed; running jobs and inspections continue. Other fleets take the queued jobs that they can run.\n" +
			"With --scale-up-only instances still start, and none is removed for lack of jobs, age or a newer definition.\n" +
			"A freeze survives restarts and applies. It ends with --clear.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			of, address, err := fleetOrProvider(args, provider)
			if err != nil {
				return err
			}
			question := fmt.Sprintf("Freeze %s?", orProvider(of, address))
			if clear {
				question = fmt.Sprintf("Clear the freeze of %s? Pending operations will resume.", orProvider(of, address))
			}
			return a.override(
				c,
				flags,
				question,
				func(ctx context.Context, to installation.Orders) (orders.OverrideReceipt, error) {
					switch {
					case address != "" && clear:
						return to.ClearProviderFreeze(ctx, address)
					case address != "":
						return to.FreezeProvider(
							ctx,
							orders.FreezeProviderRequest{Provider: address, ScaleUpOnly: scaleUpOnly, Reason: flags.reason},
						)
					case clear:
						return to.ClearFleetFreeze(ctx, of)
					}
					return to.FreezeFleet(ctx, orders.FreezeFleetRequest{Fleet: of, ScaleUpOnly: scaleUpOnly, Reason: flags.reason})
				},
			)
		},
	}
	flags.register(c, true, true)
	c.Flags().StringVar(&provider, "provider", "", "the provider to freeze, as PLUGIN.NAME, instead of a fleet")
	c.Flags().BoolVar(&scaleUpOnly, "scale-up-only", false, "allow starts; prevent removals only")
	c.Flags().BoolVar(&clear, "clear", false, "clear the freeze")
	c.MarkFlagsMutuallyExclusive("clear", "scale-up-only")
	argument.SentAs(c, "provider", "id")
	a.completes(c, a.fleetNames, "provider", a.providerNames)
	return c
}

func fleetOrProvider(args []string, provider string) (string, fleet.ProviderAddress, error) {
	if (len(args) == 1) == (provider != "") {
		return "", "", errors.New("give either a FLEET or --provider NAME")
	}
	if provider != "" {
		return "", fleet.ProviderAddress(strings.TrimPrefix(provider, "provider.")), nil
	}
	return args[0], "", nil
}

func orProvider(of string, address fleet.ProviderAddress) string {
	if address != "" {
		return "provider " + string(address)
	}
	return of
}

func (a *app) quarantineCommand() *cobra.Command {
	var flags overrideFlags
	var clear bool
	c := &cobra.Command{
		Use:   "quarantine FLEET|INSTANCE|IMAGE [--clear]",
		Short: "Take a fleet, an instance or the instances of an image out of service",
		Long: "Take instances out of service: one, all of a fleet, or all that were made from an image, which is given as\n" +
			"image.NAME or by its digest (sha256:…). They get no new job; a running job continues, unless it is " +
			"given up with\n" +
			"drain --force. No instance is made in a quarantined fleet or from a quarantined image. A quarantine survives\n" +
			"restarts and applies and ends with --clear. Instances that were quarantined aren't trusted again: each " +
			"is removed\n" +
			"once it has no job, and replaced where it is still needed.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o, err := a.quarantined(c, args[0])
			if err != nil {
				return err
			}
			if o.instance != "" {
				args[0] = string(o.instance)
			}
			question := fmt.Sprintf("Quarantine %s? It gets no jobs until the quarantine is cleared.", args[0])
			if clear {
				question = fmt.Sprintf("Clear the quarantine of %s?", args[0])
			}
			return a.override(
				c,
				flags,
				question,
				func(ctx context.Context, to installation.Orders) (orders.OverrideReceipt, error) {
					return o.order(ctx, to, clear, flags.reason)
				},
			)
		},
	}
	flags.register(c, true, true)
	c.Flags().BoolVar(&clear, "clear", false, "clear the quarantine")
	a.completes(c, a.quarantinable, "", nil)
	return c
}

// quarantineSubject is one of what can be quarantined.
type quarantineSubject struct {
	fleet, image string
	instance     fleet.CapacityInstanceID
}

// order quarantines it, or clears that.
func (s quarantineSubject) order(
	ctx context.Context,
	to installation.Orders,
	clear bool,
	reason string,
) (orders.OverrideReceipt, error) {
	switch {
	case s.image != "" && clear:
		return to.ClearImageQuarantine(ctx, s.image)
	case s.image != "":
		return to.QuarantineImage(ctx, orders.QuarantineImageRequest{Image: s.image, Reason: reason})
	case s.instance != "" && clear:
		return to.ClearInstanceQuarantine(ctx, s.instance)
	case s.instance != "":
		return to.QuarantineInstance(ctx, orders.QuarantineInstanceRequest{Instance: s.instance, Reason: reason})
	case clear:
		return to.ClearFleetQuarantine(ctx, s.fleet)
	}
	return to.QuarantineFleet(ctx, orders.QuarantineFleetRequest{Fleet: s.fleet, Reason: reason})
}

// quarantined is what a word means: an image says so, an instance has the id of one,
// and all else is a fleet.
func (a *app) quarantined(c *cobra.Command, word string) (o quarantineSubject, err error) {
	switch {
	case strings.HasPrefix(word, "sha256:") || strings.HasPrefix(word, "image."):
		o.image = word
	case fleet.ValidULID(strings.ToLower(word)) || strings.HasPrefix(word, query.Ellipsis):
		o.instance, err = a.instanceNamed(c, word)
	default:
		o.fleet = word
		found, err := a.shownInstance(c, word)
		if err != nil {
			return o, err
		}
		if found != "" {
			o.fleet, o.instance = "", found
		}
	}
	return o, err
}

// shownInstance is the instance of an id's end without the sign of one; "": there is a
// fleet of that name, or no such instance. Less than what is shown of an id is no
// instance here: a fleet's name with a slip in it must not be one. Several such instances
// are an error that lists them.
func (a *app) shownInstance(c *cobra.Command, word string) (id fleet.CapacityInstanceID, err error) {
	if len(word) < query.ShownOfID {
		return "", nil
	}
	err = a.look(c, func(ctx context.Context, look installation.Reader, _ string) error {
		fleets, err := look.Fleets(ctx)
		if err != nil || slices.ContainsFunc(fleets, func(f view.Fleet) bool { return f.Address.Name() == word }) {
			return err
		}
		i, err := look.Instance(ctx, word)
		id = i.ID
		return err
	})
	if _, several := errors.AsType[*access.InvalidError](err); several {
		return "", err
	}
	return id, nil // what else it fails with, the order of a fleet that isn't there fails with, too
}

// providerNames are those of the fleets.
func (a *app) providerNames(ctx context.Context, look installation.Reader) ([]string, error) {
	fleets, err := look.Fleets(ctx)
	var found []string
	for _, f := range fleets {
		found = append(found, string(f.Provider))
	}
	slices.Sort(found)
	return slices.Compact(found), err
}

// quarantinable are the fleets, then the instances, and then the images.
func (a *app) quarantinable(ctx context.Context, look installation.Reader) ([]string, error) {
	fleets, err := a.fleetNames(ctx, look)
	if err != nil {
		return nil, err
	}
	instances, err := a.instanceIDs(ctx, look)
	if err != nil {
		return nil, err
	}
	images, err := a.imageNames(ctx, look)
	return append(append(fleets, instances...), images...), err
}
