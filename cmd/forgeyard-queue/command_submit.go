package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
)

// connection says which queue is called.
type connection struct{ url, tokenFile string }

func (n *connection) flags(c *cobra.Command) {
	c.Flags().StringVar(&n.url, "url", "", "the queue's `URL` (default: $"+urlVariable+")")
	c.Flags().StringVar(&n.tokenFile, "token-file", "", "the `FILE` with the token (default: $"+tokenVariable+", else "+tokenFile+")")
}

func (n *connection) client() (*queue.Client, error) {
	if n.url = cmp.Or(n.url, os.Getenv(urlVariable)); n.url == "" {
		return nil, fmt.Errorf("which queue? Give --url or set %s to what \"forgeyard-queue serve\" printed", urlVariable)
	}
	token, _, _, err := findToken(n.tokenFile, false)
	if err != nil {
		return nil, err
	}
	return queue.NewClient(n.url, token), nil
}

// submitting is what the submit command was told.
type submitting struct {
	connection
	job          queue.Submission
	cpu          float64
	memory, disk string
	env          []string
	count        int
	wait         bool
	named        map[string]int64
}

func submitCommand() *cobra.Command {
	var s submitting
	c := &cobra.Command{
		Use: "submit [flags] -- COMMAND [ARGUMENT]...", Short: "Put a job into the queue", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s.job.Command = args
			return s.run(c.Context(), c.OutOrStdout())
		},
	}
	s.connection.flags(c)
	f, r := c.Flags(), &s.job.Requirement
	for _, text := range []struct {
		into        *string
		name, usage string
	}{
		{&r.OS, "os", "the runner's system: linux, darwin or windows"}, {&r.Arch, "arch", "its architecture, as in x86_64"},
		{&r.Trust, "trust", "its trust class"}, {&r.Tenant, "tenant", "whose job it is"}, {&r.Project, "project", "which project's job it is"},
		{&r.Device, "device", "the device that it has"}, {&r.Isolation, "isolation", "how it isolates jobs"},
		{&s.memory, "memory", "memory that the job takes, as in 512MiB or 4GiB"}, {&s.disk, "disk", "disk that the job takes"},
	} {
		f.StringVar(text.into, text.name, "", text.usage)
	}
	f.StringArrayVar(&r.Capabilities, "capability", nil, "a capability that the runner has; may be repeated")
	f.StringArrayVar(&r.Toolchain, "toolchain", nil, "a toolchain that it has; may be repeated")
	f.StringArrayVar(&r.Regions, "region", nil, "a region where the job may run; may be repeated")
	f.BoolVar(&r.Signing, "signing", false, "the job signs")
	f.BoolVar(&r.Confidential, "confidential", false, "the job needs confidential compute")
	f.BoolVar(&r.Hostile, "hostile", false, "nobody vouches for the job: it needs a runner that was admitted for such")
	f.Float64Var(&s.cpu, "cpu", 0, "how many CPUs the job takes, as in 0.5")
	f.Int64Var(&s.job.Resources.GPU, "gpu", 0, "how many GPUs it takes")
	f.StringToInt64Var(&s.named, "resource", nil, "a named resource that it takes, as `NAME=N`; may be repeated")
	f.StringArrayVar(&s.env, "env", nil, "a variable for the job, as `NAME=VALUE`, or NAME alone for this command's own; may be repeated")
	f.IntVar(&s.job.Priority, "priority", 0, "higher goes first")
	f.BoolVar(&s.job.PreemptibleAllowed, "preemptible", false, "it may run where the provider can take the host away")
	f.BoolVar(&s.job.Checkpoint, "checkpoint", false, "it saves its state on SIGUSR1")
	f.IntVar(&s.count, "count", 1, "how many such jobs")
	f.BoolVar(&s.wait, "wait", false, "wait until they are over; exit with 1 unless all succeeded")
	return c
}

// complete turns what flags say in words into the job's numbers.
func (s *submitting) complete() (err error) {
	if !(s.cpu >= 0 && s.cpu <= 1e6) {
		return fmt.Errorf("--cpu %g is no number of CPUs", s.cpu)
	}
	s.job.Resources.CPUMilli = int64(s.cpu*1000 + 0.5)
	if s.job.Resources.MemoryBytes, err = bytesOf("--memory", s.memory); err != nil {
		return err
	}
	if s.job.Resources.DiskBytes, err = bytesOf("--disk", s.disk); err != nil {
		return err
	}
	s.job.Resources.Named = s.named
	for _, one := range s.env {
		name, value, given := strings.Cut(one, "=")
		if !given {
			if value, given = os.LookupEnv(name); !given {
				return fmt.Errorf("--env %s: there is no such variable here; give its value as %s=VALUE", name, name)
			}
		}
		if s.job.Env == nil {
			s.job.Env = map[string]string{}
		}
		s.job.Env[name] = value
	}
	if s.count < 1 {
		return fmt.Errorf("--count %d: at least one job is submitted", s.count)
	}
	return nil
}

func (s *submitting) run(ctx context.Context, out io.Writer) error {
	if err := s.complete(); err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	var ids []string
	for range s.count {
		j, err := client.Submit(ctx, s.job)
		if err != nil {
			return fmt.Errorf("%w (%d of %d jobs are submitted)", err, len(ids), s.count)
		}
		ids = append(ids, j.ID)
		fmt.Fprintln(out, j.ID)
	}
	if !s.wait {
		return nil
	}
	return waitFor(ctx, out, client, ids)
}

// lookEvery is how often jobs that are waited for are looked at.
const lookEvery = 500 * time.Millisecond

// waitFor tells of each job's end.
func waitFor(ctx context.Context, out io.Writer, client *queue.Client, ids []string) error {
	bad := 0
	for _, id := range ids {
		j, err := client.Job(ctx, id)
		for err == nil && !j.State.Over() {
			select {
			case <-time.After(lookEvery):
			case <-ctx.Done():
				return fmt.Errorf("no longer waiting for %s, which is %s; it goes on", id, j.State)
			}
			j, err = client.Job(ctx, id)
		}
		if err != nil {
			return err
		}
		if j.State != queue.Succeeded {
			bad++
		}
		fmt.Fprintf(out, "%s %s: %s\n", id, j.State, j.Reason)
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d jobs did not succeed; see forgeyard-queue log ID", bad, len(ids))
	}
	return nil
}
