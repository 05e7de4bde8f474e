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
	var flags standingFlags
	var provider string
	o := control.StandingOrder{Kind: control.FreezeWrites}
	c := &cobra.Command{
		Use:   "freeze FLEET | --provider NAME",
		Short: "Stop everything that starts or ends instances of a fleet or of a provider, until it is thawed",
		Long: "Freeze a fleet, or all fleets and instances of a provider. No call that starts or ends an instance goes out any\n" +
			"more, whatever its cause, also for a drain that was ordered; calls that went out before are answered, jobs go\n" +
			"on, and inspections, too. Work that other fleets can run goes to them. With --scale-up-only instances start, and\n" +
			"none leaves for want of work, age or a newer definition. It holds, over restarts and applies, until thaw.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if o.Fleet, o.Provider, err = fleetOrProvider(args, provider); err != nil {
				return err
			}
			return a.orderStanding(c, flags, o, fmt.Sprintf("Freeze %s?", orProvider(o)))
		},
	}
	flags.register(c, true, true)
	c.Flags().StringVar(&provider, "provider", "", "freeze all of a provider: PLUGIN.NAME")
	c.Flags().BoolVar(&o.ScaleUpOnly, "scale-up-only", false, "let instances start, and none leave")
	sentAs(c, "provider", "id")
	a.completes(c, a.fleetNames, "provider", a.providerNames)
	return c
}

func (a *app) thawCommand() *cobra.Command {
	var flags standingFlags
	var provider string
	o := control.StandingOrder{Kind: control.FreezeWrites, End: true}
	c := &cobra.Command{
		Use:   "thaw FLEET | --provider NAME",
		Short: "End a freeze",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if o.Fleet, o.Provider, err = fleetOrProvider(args, provider); err != nil {
				return err
			}
			return a.orderStanding(c, flags, o, fmt.Sprintf("Thaw %s? What waits starts and ends then.", orProvider(o)))
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

func orProvider(o control.StandingOrder) string {
	if o.Provider != "" {
		return "all of the provider " + string(o.Provider)
	}
	return o.Fleet
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
			o.End = release
			if o.Instance != "" {
				args[0] = string(o.Instance)
			}
			question := fmt.Sprintf("Quarantine %s? It gets no work until it is released.", args[0])
			if release {
				question = fmt.Sprintf("Release %s from its quarantine?", args[0])
			}
			return a.orderStanding(c, flags, o, question)
		},
	}
	flags.register(c, true, true)
	c.Flags().BoolVar(&release, "release", false, "end the quarantine")
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
