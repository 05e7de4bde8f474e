package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/control"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

func (a *app) freezeCommand() *cobra.Command {
	var flags overrideFlags
	var provider string
	o := control.StandingOrder{Kind: control.FreezeWrites}
	c := &cobra.Command{
		Use:   "freeze FLEET | --provider NAME [--clear]",
		Short: "Stop all starts and removals of a fleet or provider until the freeze is cleared",
		Long: "Freeze a fleet, or all fleets and instances of a provider. No call that starts or removes an instance is sent\n" +
			"while the freeze holds, whatever its cause, including drains that were requested. Calls already sent are\n" +
			"completed; running jobs and inspections continue. Other fleets take the queued jobs that they can run.\n" +
			"With --scale-up-only instances still start, and none is removed for lack of jobs, age or a newer definition.\n" +
			"A freeze survives restarts and applies. It ends with --clear.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if o.Fleet, o.Provider, err = fleetOrProvider(args, provider); err != nil {
				return err
			}
			question := fmt.Sprintf("Freeze %s?", orProvider(o))
			if o.End {
				question = fmt.Sprintf("Clear the freeze of %s? Pending operations will resume.", orProvider(o))
			}
			return a.orderStanding(c, flags, o, question)
		},
	}
	flags.register(c, true, true)
	c.Flags().StringVar(&provider, "provider", "", "the provider to freeze, as PLUGIN.NAME, instead of a fleet")
	c.Flags().BoolVar(&o.ScaleUpOnly, "scale-up-only", false, "allow starts; prevent removals only")
	c.Flags().BoolVar(&o.End, "clear", false, "clear the freeze")
	c.MarkFlagsMutuallyExclusive("clear", "scale-up-only")
	sentAs(c, "provider", "id")
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

func orProvider(o control.StandingOrder) string {
	if o.Provider != "" {
		return "provider " + string(o.Provider)
	}
	return o.Fleet
}

func (a *app) quarantineCommand() *cobra.Command {
	var flags overrideFlags
	var clear bool
	c := &cobra.Command{
		Use:   "quarantine FLEET|INSTANCE|IMAGE [--clear]",
		Short: "Take a fleet, an instance or the instances of an image out of service",
		Long: "Take instances out of service: one, all of a fleet, or all that were made from an image, which is given as\n" +
			"image.NAME or by its digest (sha256:…). They get no new job; a running job continues, unless it is given up with\n" +
			"drain --force. No instance is made in a quarantined fleet or from a quarantined image. A quarantine survives\n" +
			"restarts and applies and ends with --clear. Instances that were quarantined aren't trusted again: each is removed\n" +
			"once it has no job, and replaced where it is still needed.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o, err := a.quarantined(c, args[0])
			if err != nil {
				return err
			}
			o.End = clear
			if o.Instance != "" {
				args[0] = string(o.Instance)
			}
			question := fmt.Sprintf("Quarantine %s? It gets no jobs until the quarantine is cleared.", args[0])
			if clear {
				question = fmt.Sprintf("Clear the quarantine of %s?", args[0])
			}
			return a.orderStanding(c, flags, o, question)
		},
	}
	flags.register(c, true, true)
	c.Flags().BoolVar(&clear, "clear", false, "clear the quarantine")
	a.completes(c, a.quarantinable, "", nil)
	return c
}

// quarantined is what a word means: an image says so, an instance has the id of one,
// and all else is a fleet.
func (a *app) quarantined(c *cobra.Command, word string) (o control.StandingOrder, err error) {
	o.Kind = control.QuarantineIt
	switch {
	case strings.HasPrefix(word, "sha256:") || strings.HasPrefix(word, "image."):
		o.Image = word
	case fleet.ValidULID(strings.ToLower(word)) || strings.HasPrefix(word, control.Ellipsis):
		o.Instance, err = a.instanceNamed(c, word)
	default:
		o.Fleet = word
		found, err := a.shownInstance(c, word)
		if err != nil {
			return o, err
		}
		if found != "" {
			o.Fleet, o.Instance = "", found
		}
	}
	return o, err
}

// shownInstance is the instance of an id's end without the sign of one; "": there is a
// fleet of that name, or no such instance. Less than what is shown of an id is no
// instance here: a fleet's name with a slip in it must not be one. Several such instances
// are an error that lists them.
func (a *app) shownInstance(c *cobra.Command, word string) (id fleet.CapacityInstanceID, err error) {
	if len(word) < control.ShownOfID {
		return "", nil
	}
	err = a.look(c, func(ctx context.Context, look control.Reader, _ string) error {
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
func (a *app) providerNames(ctx context.Context, look control.Reader) ([]string, error) {
	fleets, err := look.Fleets(ctx)
	var found []string
	for _, f := range fleets {
		found = append(found, string(f.Provider))
	}
	slices.Sort(found)
	return slices.Compact(found), err
}

// quarantinable are the fleets, then the instances, and then the images.
func (a *app) quarantinable(ctx context.Context, look control.Reader) ([]string, error) {
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
