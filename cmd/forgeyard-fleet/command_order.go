package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/daemon"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
)

// orderFlags are the flags of every command that decides about one instance.
type orderFlags struct {
	autoApprove bool
	wait        time.Duration
}

func (f *orderFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&f.autoApprove, "auto-approve", false, "don't ask for confirmation")
	c.Flags().
		DurationVar(&f.wait, "wait", 30*time.Minute,
			"without a running manager: how long this process waits until the fleets match")
}

func (a *app) instanceResolveCommand() *cobra.Command {
	var flags orderFlags
	var created string
	var notCreated, gone bool
	c := &cobra.Command{
		Use:   "resolve INSTANCE",
		Short: "Record the outcome of an instance that the manager can't determine",
		Long: "Record the outcome of an instance's request or resource: the request created the resource with an id, " +
			"it created\n" +
			"nothing, or the resource no longer exists. The command is refused if the provider's list or the agent's\n" +
			"heartbeats contradict it.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := a.instanceNamed(c, args[0])
			if err != nil {
				return err
			}
			r := orders.ResolveRequest{Instance: id}
			var question string
			switch {
			case created != "":
				r.Outcome, r.Resource = orders.Created, fleet.ProviderInstanceRef(created)
				question = fmt.Sprintf("Record %s as the resource of instance %s?", created, id)
			case notCreated:
				r.Outcome, question = orders.NotCreated, fmt.Sprintf(
					"Record that the request of instance %s created nothing? If it did create a resource, that becomes an orphan.",
					id,
				)
			case gone:
				r.Outcome, question = orders.Gone, fmt.Sprintf(
					"Record that the resource of instance %s no longer exists? If it does, it becomes an orphan.",
					id,
				)
			}
			return a.order(
				c,
				flags,
				question,
				func(ctx context.Context, to installation.Orders) (orders.InstanceReceipt, error) {
					return to.ResolveInstance(ctx, r)
				},
			)
		},
	}
	flags.register(c)
	a.completes(c, a.instanceIDs, "", nil)
	c.Flags().StringVar(&created, "created", "", "the request created the resource with this id at the provider")
	c.Flags().BoolVar(&notCreated, "not-created", false, "the request created nothing")
	c.Flags().BoolVar(&gone, "gone", false, "the resource no longer exists")
	sentAs(c, "created", "outcome", "provider_instance")
	c.MarkFlagsOneRequired("created", "not-created", "gone")
	c.MarkFlagsMutuallyExclusive("created", "not-created", "gone")
	return c
}

func (a *app) instanceReplaceCommand() *cobra.Command {
	var flags orderFlags
	c := &cobra.Command{
		Use:   "replace INSTANCE",
		Short: "Replace an instance after its job",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := a.instanceNamed(c, args[0])
			if err != nil {
				return err
			}
			question := fmt.Sprintf("Replace instance %s? It is removed after its job.", id)
			return a.order(
				c,
				flags,
				question,
				func(ctx context.Context, to installation.Orders) (orders.InstanceReceipt, error) {
					return to.ReplaceInstance(ctx, id)
				},
			)
		},
	}
	flags.register(c)
	a.completes(c, a.instanceIDs, "", nil)
	return c
}

func (a *app) instanceAdoptCommand() *cobra.Command {
	var flags orderFlags
	var address string
	var remove bool
	c := &cobra.Command{
		Use:   "adopt PROVIDER RESOURCE",
		Short: "Remove an orphan or a foreign resource",
		Long: "Assign an orphan or a foreign resource to a fleet, which counts it against its limits, and remove " +
			"it. It can't\n" +
			"become a runner because its agent never enrolled, so --remove is required. The provider must list the resource\n" +
			"exactly once in a new inspection, and it must not belong to an instance. Check the id: the resource is removed.",
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if !remove {
				return errors.New("--remove is required: an adopted resource can't become a runner, it can only be removed")
			}
			r := orders.AdoptRequest{
				Provider: fleet.ProviderAddress(args[0]),
				Resource: fleet.ProviderInstanceRef(args[1]),
				Fleet:    fleetAddress(address),
			}
			question := fmt.Sprintf("Remove resource %s at provider.%s?", args[1], args[0])
			return a.order(
				c,
				flags,
				question,
				func(ctx context.Context, to installation.Orders) (orders.InstanceReceipt, error) {
					return to.AdoptResource(ctx, r)
				},
			)
		},
	}
	flags.register(c)
	c.Flags().StringVar(&address, "fleet", "", "fleet that counts the resource until it is removed: address or name")
	c.Flags().BoolVar(&remove, "remove", false, "remove the resource")
	a.completes(c, nil, "fleet", a.fleetAddresses)
	_ = c.MarkFlagRequired("fleet") // it is there: the line above made it
	return c
}

func (a *app) drainCommand() *cobra.Command {
	var flags orderFlags
	var force bool
	c := &cobra.Command{
		Use:   "drain INSTANCE",
		Short: "Remove an instance after its job, or with --force at once",
		Long: "Remove an instance after its job. With --force an instance that is draining or quarantined is " +
			"removed without\n" +
			"waiting for its job: use it for a dead agent or a job that never ends.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := a.instanceNamed(c, args[0])
			if err != nil {
				return err
			}
			r := orders.DrainRequest{Instance: id, Force: force}
			question := fmt.Sprintf("Drain instance %s? It is removed after its job.", id)
			if force {
				question = fmt.Sprintf("Remove instance %s and give up the job that may be running on it?", id)
			}
			return a.order(
				c,
				flags,
				question,
				func(ctx context.Context, to installation.Orders) (orders.InstanceReceipt, error) {
					return to.DrainInstance(ctx, r)
				},
			)
		},
	}
	flags.register(c)
	a.completes(c, a.instanceIDs, "", nil)
	c.Flags().BoolVar(&force, "force", false, "give up the job of an instance that is draining or quarantined")
	return c
}

// fleetAddress is the address of a fleet's name, or the address itself.
func fleetAddress(nameOrAddress string) fleet.FleetAddress {
	if fleet.ValidName(nameOrAddress) {
		return fleet.FleetAddress("fleet." + nameOrAddress)
	}
	return fleet.FleetAddress(nameOrAddress)
}

// order asks, and has the manager carry out what was decided: the one that runs,
// or this process for as long as it takes.
func (a *app) order(c *cobra.Command, flags orderFlags, question string, give giveOrder) (err error) {
	if flags.wait <= 0 {
		return fmt.Errorf("--wait %s: must be a positive duration, for example 10m", flags.wait)
	}
	options, err := a.installed(c)
	if err != nil {
		return err
	}
	ctx := caller(c)
	if !flags.autoApprove {
		err := a.look(c, func(ctx context.Context, look installation.Reader, _ string) error {
			_, err := give(ctx, look.CheckOrders())
			return err
		})
		if err != nil {
			return err
		}
		yes, err := a.confirm(ctx, question)
		if err != nil {
			return err
		}
		if !yes {
			a.printf("Nothing was changed.\n")
			return exitStatus(exitDeclined)
		}
	}
	service, err := a.writer(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.close()) }()
	if service.embedded != nil {
		return a.orderHere(ctx, service.embedded, give, flags.wait)
	}
	return a.carryOut(ctx, service, give)
}

// giveOrder gives an order, or has it checked.
type giveOrder func(context.Context, installation.Orders) (orders.InstanceReceipt, error)

func (a *app) carryOut(ctx context.Context, s installation.Service, give giveOrder) error {
	receipt, err := give(ctx, s.Orders())
	if err == nil {
		a.printf("Instance %s: %s.\n", receipt.Instance, receipt.Done)
	}
	return err
}

// orderHere is the manager until the order is carried out and what follows from
// it is where it should be.
func (a *app) orderHere(ctx context.Context, m *daemon.Daemon, give giveOrder, wait time.Duration) error {
	settings, err := m.Settings(ctx)
	if err != nil {
		return err
	}
	listener, err := m.Listen(ctx, settings)
	if err != nil {
		return err
	}
	return a.manage(ctx, m, listener, func(watching context.Context) error {
		if err := a.carryOut(watching, m, give); err != nil {
			return err
		}
		words := &applyWords{app: a, wait: wait}
		words.applied(plans.Receipt{})
		return await(watching, m, plans.Receipt{}, wait, false, words)
	})
}

// listUnrecorded shows what the running manager found without a live record.
func (a *app) listUnrecorded(ctx context.Context, look installation.Reader, manager string, asJSON bool) error {
	found, err := look.Unrecorded(ctx)
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		return a.printJSON(found)
	case len(found) == 0 && manager == "":
		a.printf("Unknown: no manager is running to inspect the providers. Start one with:\n  forgeyard-fleet serve\n")
	case len(found) == 0:
		a.printf("Every listed resource belongs to an instance.\n")
	default:
		a.page().Unrecorded(found)
	}
	return nil
}
