package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
)

// connection says which queue is called.
type connection struct{ url, tokenFile string }

func (n *connection) flags(c *cobra.Command) {
	c.Flags().StringVar(&n.url, "url", "", "`URL` of the queue (default: $"+urlVariable+")")
	c.Flags().
		StringVar(&n.tokenFile, "token-file", "",
			"`FILE` with the token (default: $"+tokenVariable+", otherwise "+tokenFile+")")
}

func (n *connection) client() (*queue.Client, error) {
	if n.url = cmp.Or(n.url, os.Getenv(urlVariable)); n.url == "" {
		return nil, fmt.Errorf("--url is required: give the URL that forgeyard-queue serve printed, or set %s", urlVariable)
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
		Use: "submit [flags] -- COMMAND [ARGUMENT]...", Short: "Submit a job", Args: cobra.MinimumNArgs(1),
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
		{&r.OS, "os", "operating system of the runner: linux, darwin or windows"},
		{&r.Arch, "arch", "architecture of the runner: x86_64 or arm64"},
		{&r.Trust, "trust", "trust class of the runner"}, {&r.Tenant, "tenant", "tenant that the job belongs to"},
		{&r.Project, "project", "project that the job belongs to"},
		{&r.Device, "device", "device that the runner has"},
		{&r.Isolation, "isolation", "isolation of jobs that the runner provides"},
		{&s.memory, "memory", "memory that the job needs, for example 512MiB or 4GiB"},
		{&s.disk, "disk", "disk that the job needs"},
	} {
		f.StringVar(text.into, text.name, "", text.usage)
	}
	f.StringArrayVar(&r.Capabilities, "capability", nil, "capability that the runner has; can be repeated")
	f.StringArrayVar(&r.Toolchain, "toolchain", nil, "toolchain that the runner has; can be repeated")
	f.StringArrayVar(&r.Regions, "region", nil, "region where the job may run; can be repeated")
	f.BoolVar(&r.Signing, "signing", false, "the job signs")
	f.BoolVar(&r.Confidential, "confidential", false, "the job needs confidential compute")
	f.BoolVar(&r.Hostile, "hostile", false, "the job is untrusted and needs a runner that was admitted for hostile jobs")
	f.Float64Var(&s.cpu, "cpu", 0, "number of CPUs that the job needs, for example 0.5")
	f.Int64Var(&s.job.Resources.GPU, "gpu", 0, "number of GPUs that the job needs")
	f.StringToInt64Var(&s.named, "resource", nil, "named resource that the job needs, as `NAME=N`; can be repeated")
	f.StringArrayVar(
		&s.env,
		"env",
		nil,
		"environment variable of the job, as `NAME=VALUE`, or NAME to pass on its value here; can be repeated",
	)
	f.IntVar(&s.job.Priority, "priority", 0, "jobs with a higher priority start first")
	f.BoolVar(&s.job.PreemptibleAllowed, "preemptible", false, "the job may run on preemptible instances")
	f.BoolVar(&s.job.Checkpoint, "checkpoint", false, "the job saves its state on SIGUSR1")
	f.IntVar(&s.count, "count", 1, "number of jobs to submit")
	f.BoolVar(&s.wait, "wait", false, "wait until the jobs have ended; exit with 1 unless all succeeded")
	return c
}

// complete turns what flags say in words into the job's numbers.
func (s *submitting) complete() (err error) {
	if !(s.cpu >= 0 && s.cpu <= 1e6) {
		return fmt.Errorf("--cpu %g: must be a number, 0 ≤ cpu ≤ 1000000", s.cpu)
	}
	r := s.job.Requirement
	if err := errors.Join(
		oneOf("--os", r.OS, "linux", "darwin", "windows"),
		oneOf("--arch", r.Arch, "x86_64", "arm64"),
	); err != nil {
		return err
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
				return fmt.Errorf("--env %s: the variable isn't set here; give a value with --env %s=VALUE", name, name)
			}
		}
		if s.job.Env == nil {
			s.job.Env = map[string]string{}
		}
		s.job.Env[name] = value
	}
	if s.count < 1 {
		return fmt.Errorf("--count %d: must be at least 1", s.count)
	}
	return nil
}

// oneOf refuses a value that no runner has, for which a job would wait forever. An empty
// one is any.
func oneOf(flag, value string, valid ...string) error {
	if value == "" || slices.Contains(valid, value) {
		return nil
	}
	return fmt.Errorf("%s: unknown value %q; valid: %s", flag, value, strings.Join(valid, ", "))
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
			return fmt.Errorf("%w (%d of %d jobs were submitted)", err, len(ids), s.count)
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
				return fmt.Errorf("stopped waiting for %s, which is %s; the job continues", id, j.State)
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
		return fmt.Errorf("%d of %d jobs did not succeed. See their output with:\n  forgeyard-queue log ID", bad, len(ids))
	}
	return nil
}
