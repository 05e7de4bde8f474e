package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/reviewosfile"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/reviewos"
)

func (a *app) reviewosCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "reviewos",
		Short: "Manage the pools, queues and registration tokens of a ReviewOS instance",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	tokens := &cobra.Command{
		Use:   "token",
		Short: "Create and delete the tokens with which machines join a pool",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	tokens.AddCommand(a.reviewosTokenCreateCommand(), a.reviewosTokenDeleteCommand())
	c.AddCommand(a.reviewosApplyCommand(), tokens)
	return c
}

func (a *app) reviewosApplyCommand() *cobra.Command {
	var plan bool
	var at reviewosInstance
	c := &cobra.Command{
		Use:   "apply FILE",
		Short: "Apply a ReviewOS fleet file to pools and queues",
		Long: "Apply a fleet file to the pools, queues, pauses, repositories and required signatures of a ReviewOS " +
			"instance.\n" +
			"A second apply changes nothing. Nothing is ever removed: what the instance has and the file doesn't mention is\n" +
			"listed as drift and not touched.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			file, err := reviewosfile.Read(args[0])
			if err != nil {
				return err
			}
			return a.withReviewOS(c, at, func(ctx context.Context, client *reviewos.Client) error {
				return a.applyReviewOS(ctx, client, file, plan)
			})
		},
	}
	c.Flags().BoolVar(&plan, "plan", false, "show what would change, and change nothing")
	at.flags(c)
	return c
}

// applyReviewOS shows what a file changes, and does it unless it is only planned.
func (a *app) applyReviewOS(ctx context.Context, client *reviewos.Client, file reviewosfile.File, plan bool) error {
	shape, err := client.Shape(ctx)
	if err != nil {
		return err
	}
	changes, drift := reviewosfile.Changes(file, shape)
	for n, change := range changes {
		a.printf("  %s\n", change.Words)
		if plan {
			continue
		}
		if err := change.Do(ctx, client); err != nil {
			return fmt.Errorf("%d of %d changes made; the next apply makes the others: %w", n, len(changes), err)
		}
	}
	switch {
	case len(changes) == 0:
		a.printf("No changes: the instance matches the file.\n")
	case plan:
		a.printf("%s planned; nothing was changed.\n", changesAre(len(changes)))
	default:
		a.printf("%s made.\n", changesAre(len(changes)))
	}
	if len(drift) > 0 {
		a.printf("\nNot in the file, and never removed:\n")
	}
	for _, text := range drift {
		a.printf("  %s\n", scheduler.Printable(text))
	}
	return nil
}

func changesAre(n int) string {
	if n == 1 {
		return "1 change"
	}
	return fmt.Sprintf("%d changes", n)
}

func (a *app) reviewosTokenCreateCommand() *cobra.Command {
	var at reviewosInstance
	var pool, queue int64
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a registration token for a pool",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if pool <= 0 {
				return fmt.Errorf("--pool is required and must be the number of a pool, for example --pool 3")
			}
			return a.withReviewOS(c, at, func(ctx context.Context, client *reviewos.Client) error {
				token, err := client.CreateToken(ctx, pool, queue, args[0])
				if err != nil {
					return err
				}
				a.printf("%s\n", token.Token)
				fmt.Fprintf(
					a.err,
					"Token %d created; it is shown only now. Delete it with:\n  forgeyard-fleet reviewos token delete %d\n",
					token.ID,
					token.ID,
				)
				return nil
			})
		},
	}
	c.Flags().Int64Var(&pool, "pool", 0, "number of the pool that machines join")
	c.Flags().Int64Var(&queue, "queue", 0, "number of the queue that machines are added to")
	at.flags(c)
	return c
}

func (a *app) reviewosTokenDeleteCommand() *cobra.Command {
	var at reviewosInstance
	c := &cobra.Command{
		Use:   "delete NUMBER",
		Short: "Delete a registration token; machines that joined with it keep working",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id <= 0 {
				return fmt.Errorf("invalid token number %q; use the number that token create printed", args[0])
			}
			return a.withReviewOS(c, at, func(ctx context.Context, client *reviewos.Client) error {
				if err := client.RevokeToken(ctx, id); err != nil {
					return err
				}
				a.printf("Token %d deleted: machines can no longer join with it.\n", id)
				return nil
			})
		},
	}
	at.flags(c)
	return c
}

// reviewosInstance is where an instance answers, and with which token.
type reviewosInstance struct{ url, tokenFile string }

func (i *reviewosInstance) flags(c *cobra.Command) {
	c.Flags().StringVar(&i.url, "url", "", "URL of the instance (default: REVIEWOS_URL)")
	c.Flags().
		StringVar(&i.tokenFile, "token-file", "",
			"file with the token of a pool maintainer (default: the token in REVIEWOS_TOKEN)")
}

// withReviewOS calls with a client of the instance.
func (a *app) withReviewOS(
	c *cobra.Command,
	at reviewosInstance,
	call func(context.Context, *reviewos.Client) error,
) error {
	base := cmp.Or(at.url, a.variable("REVIEWOS_URL"))
	parsed, err := url.Parse(base)
	if err != nil || base == "" || parsed.Hostname() == "" || parsed.User != nil || parsed.RawQuery != "" {
		return fmt.Errorf(
			"the URL of the ReviewOS instance is missing or invalid: give --url, for example --url https://reviewos.example, " +
				"or set REVIEWOS_URL",
		)
	}
	here := parsed.Hostname() == "localhost" || net.ParseIP(parsed.Hostname()).IsLoopback()
	if parsed.Scheme != "https" && !(parsed.Scheme == "http" && here) {
		return fmt.Errorf("--url must use https because every call sends the token; http is allowed only for this machine")
	}
	token := func(context.Context) (string, error) {
		if at.tokenFile == "" {
			if secret := strings.TrimSpace(a.variable("REVIEWOS_TOKEN")); secret != "" {
				return secret, nil
			}
			return "", fmt.Errorf(
				"the token is missing: give --token-file, or set REVIEWOS_TOKEN to the token of a pool maintainer",
			)
		}
		content, err := os.ReadFile(at.tokenFile)
		if err != nil {
			return "", err
		}
		return strings.TrimSpace(string(content)), nil
	}
	client := reviewos.New(reviewos.Config{URL: base, Fleet: token, Metrics: token, Clock: a.now})
	defer client.Close()
	return call(c.Context(), client)
}

// variable is the value of an environment variable; "": it isn't set.
func (a *app) variable(name string) string {
	value, _ := a.lookupEnv(name)
	return value
}
