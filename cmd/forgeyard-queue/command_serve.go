package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
)

// serving is what the serve command was told.
type serving struct {
	listen, url, tokenFile string
	leaseTime              time.Duration
	limits                 map[string]int
}

func serveCommand() *cobra.Command {
	var s serving
	c := &cobra.Command{
		Use: "serve", Short: "Run the queue until it is stopped", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c.Context(), c.OutOrStdout()) },
	}
	c.Flags().StringVar(&s.listen, "listen", "127.0.0.1:0", "the loopback `ADDRESS` to listen at; port 0: a free one")
	c.Flags().StringVar(&s.url, "url", "", "the `URL` under which workers on other hosts reach this queue, by a proxy with TLS (default: where it listens)")
	c.Flags().StringVar(&s.tokenFile, "token-file", "", "the `FILE` with the token, made where it isn't there (default: $"+tokenVariable+", else "+tokenFile+")")
	c.Flags().DurationVar(&s.leaseTime, "lease-time", 30*time.Second, "how long a lease holds without being renewed")
	c.Flags().StringToIntVar(&s.limits, "tenant-limit", nil, "how many jobs of a tenant run at once, as `TENANT=N`; may be repeated")
	return c
}

func (s serving) check() error {
	host, _, err := net.SplitHostPort(s.listen)
	if err != nil {
		return fmt.Errorf("--listen %s is no address of the form HOST:PORT: %w", s.listen, err)
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--listen %s is not a loopback address, and this queue speaks no TLS: tokens would go over the network in the clear. Listen at 127.0.0.1, put a proxy with TLS before it, and give its address by --url", s.listen)
	}
	if s.leaseTime < time.Second {
		return fmt.Errorf("--lease-time %s is too short: workers need at least 1s to renew", s.leaseTime)
	}
	for tenant, limit := range s.limits {
		if limit < 0 {
			return fmt.Errorf("--tenant-limit %s=%d: it can't be negative", tenant, limit)
		}
	}
	return nil
}

// run serves until ctx ends.
func (s serving) run(ctx context.Context, out io.Writer) error {
	if err := s.check(); err != nil {
		return err
	}
	token, from, made, err := findToken(s.tokenFile, true)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", s.listen, err)
	}
	here := "http://" + listener.Addr().String()
	if s.url == "" {
		s.url = here
	}
	q := queue.New(queue.Options{Clock: time.Now, NewID: newID, LeaseTime: s.leaseTime, TenantLimits: s.limits})
	handler, err := queue.NewServer(q, s.url, token)
	if err != nil {
		_ = listener.Close()
		return fmt.Errorf("the token of %s: %w", from, err)
	}
	fmt.Fprintf(out, "forgeyard-queue listens at %s\n", here)
	if made {
		fmt.Fprintf(out, "A token was made in %s.\n", from)
	}
	fmt.Fprintln(out, "It is a reference scheduler and no CI system: jobs are in memory alone, and end with this process.")
	return serveUntil(ctx, listener, handler, q)
}

// expireEvery is how often leases are looked at.
const expireEvery = time.Second

func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler, q *queue.Queue) error {
	// Calls that wait are answered when this context ends.
	calls, endCalls := context.WithCancel(context.Background())
	defer endCalls()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return calls }}
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() {
		tick := time.NewTicker(expireEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				q.Expire()
			case <-calls.Done():
				return
			}
		}
	})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		endCalls()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	endCalls()
	short, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := server.Shutdown(short)
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func newID() string {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}
