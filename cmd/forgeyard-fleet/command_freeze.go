package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

func (a *app) freezeCommand() *cobra.Command {
	var flags standingFlags
	var provider string
	var scaleUpOnly bool
	c := &cobra.Command{
		Use:   "freeze FLEET | --provider NAME",
		Short: "Stop everything that starts or ends instances of a fleet or of a provider, until it is thawed",
		Long: "Freeze a fleet, or all fleets and instances of a provider. No call that starts or ends an instance goes out any\n" +
			"more, whatever its cause, also for a drain that was ordered; calls that went out before are answered, jobs go\n" +
			"on, and inspections, too. Work that other fleets can run goes to them. With --scale-up-only instances start, and\n" +
			"none leaves for want of work, age or a newer definition. It holds, over restarts and applies, until thaw.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			of, address, err := fleetOrProvider(args, provider)
			if err != nil {
				return err
			}
			question := fmt.Sprintf("Freeze %s?", orProvider(of, address))
			return a.override(c, flags, question, func(ctx context.Context, to installation.Orders) (orders.OverrideReceipt, error) {
				if address != "" {
					return to.FreezeProvider(ctx, orders.FreezeProviderRequest{Provider: address, ScaleUpOnly: scaleUpOnly, Reason: flags.reason})
				}
				return to.FreezeFleet(ctx, orders.FreezeFleetRequest{Fleet: of, ScaleUpOnly: scaleUpOnly, Reason: flags.reason})
			})
		},
	}
	flags.register(c, true, true)
	c.Flags().StringVar(&provider, "provider", "", "freeze all of a provider: PLUGIN.NAME")
	c.Flags().BoolVar(&scaleUpOnly, "scale-up-only", false, "let instances start, and none leave")
	sentAs(c, "provider", "id")
	a.completes(c, a.fleetNames, "provider", a.providerNames)
	return c
}

func (a *app) thawCommand() *cobra.Command {
	var flags standingFlags
	var provider string
	c := &cobra.Command{
		Use:   "thaw FLEET | --provider NAME",
		Short: "End a freeze",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			of, address, err := fleetOrProvider(args, provider)
			if err != nil {
				return err
			}
			question := fmt.Sprintf("Thaw %s? What waits starts and ends then.", orProvider(of, address))
			return a.override(c, flags, question, func(ctx context.Context, to installation.Orders) (orders.OverrideReceipt, error) {
				if address != "" {
					return to.ClearProviderFreeze(ctx, address)
				}
				return to.ClearFleetFreeze(ctx, of)
			})
		},
	}
	flags.register(c, true, false)
	c.Flags().StringVar(&provider, "provider", "", "thaw a provider: PLUGIN.NAME")
	sentAs(c, "provider", "id")
	a.completes(c, a.fleetNames, "provider", a.providerNames)
	return c
}

func fleetOrProvider(args []string, provider string) (string, fleet.ProviderAddress, error) {
	if (len(args) == 1) == (provider != "") {
		return "", "", errors.New("give a FLEET, or --provider NAME, and not both")
	}
	if provider != "" {
		return "", fleet.ProviderAddress(strings.TrimPrefix(provider, "provider.")), nil
	}
	return args[0], "", nil
}

func orProvider(of string, address fleet.ProviderAddress) string {
	if address != "" {
		return "all of the provider " + string(address)
	}
	return of
}

func (a *app) quarantineCommand() *cobra.Command {
	var flags standingFlags
	var release bool
	c := &cobra.Command{
		Use:   "quarantine FLEET|INSTANCE|IMAGE",
		Short: "Take a fleet, an instance or what an image made out of work, and let no new ones come",
		Long: "Take instances out of work: one, all of a fleet, or all that were made from an image, which is named as\n" +
			"image.NAME or by its declared digest (sha256:…). They get no new job; a job that runs goes on, and can be given\n" +
			"up with drain --force. Nothing new is made in a quarantined fleet or from a quarantined image. It holds, over\n" +
			"restarts and applies, until --release. What was quarantined isn't trusted again then: it leaves once no job is\n" +
			"on it, and is made anew where it is still wanted.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o, err := a.quarantined(c, args[0])
			if err != nil {
				return err
			}
			if o.instance != "" {
				args[0] = string(o.instance)
			}
			question := fmt.Sprintf("Quarantine %s? It gets no work until it is released.", args[0])
			if release {
				question = fmt.Sprintf("Release %s from its quarantine?", args[0])
			}
			return a.override(c, flags, question, func(ctx context.Context, to installation.Orders) (orders.OverrideReceipt, error) {
				return o.order(ctx, to, release, flags.reason)
			})
		},
	}
	flags.register(c, true, true)
	c.Flags().BoolVar(&release, "release", false, "end the quarantine")
	a.completes(c, a.quarantinable, "", nil)
	return c
}

// quarantineSubject is one of what can be quarantined.
type quarantineSubject struct {
	fleet, image string
	instance     fleet.CapacityInstanceID
}

// order quarantines it, or ends that.
func (s quarantineSubject) order(ctx context.Context, to installation.Orders, release bool, reason string) (orders.OverrideReceipt, error) {
	switch {
	case s.image != "" && release:
		return to.ClearImageQuarantine(ctx, s.image)
	case s.image != "":
		return to.QuarantineImage(ctx, orders.QuarantineImageRequest{Image: s.image, Reason: reason})
	case s.instance != "" && release:
		return to.ClearInstanceQuarantine(ctx, s.instance)
	case s.instance != "":
		return to.QuarantineInstance(ctx, orders.QuarantineInstanceRequest{Instance: s.instance, Reason: reason})
	case release:
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
