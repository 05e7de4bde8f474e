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
		Use: "serve", Short: "Run the queue until stopped", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c.Context(), c.OutOrStdout()) },
	}
	c.Flags().StringVar(&s.listen, "listen", "127.0.0.1:0", "loopback `ADDRESS` to listen on; port 0 chooses a free port")
	c.Flags().
		StringVar(&s.url, "url", "",
			"`URL` of a TLS proxy by which workers on other machines reach this queue (default: the listen address)")
	c.Flags().
		StringVar(&s.tokenFile, "token-file", "",
			"`FILE` with the token, created if it doesn't exist (default: $"+tokenVariable+", otherwise "+tokenFile+")")
	c.Flags().DurationVar(&s.leaseTime, "lease-time", 30*time.Second, "how long a lease is valid without renewal")
	c.Flags().
		StringToIntVar(&s.limits, "tenant-limit", nil,
			"maximum number of running jobs of a tenant, as `TENANT=N`; can be repeated")
	return c
}

func (s serving) check() error {
	host, _, err := net.SplitHostPort(s.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: invalid address; use HOST:PORT: %w", s.listen, err)
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf(
			"--listen %s: not a loopback address. The queue doesn't support TLS, so tokens would be sent unencrypted. Listen "+
				"on 127.0.0.1 behind a TLS proxy and give the URL of the proxy with --url",
			s.listen,
		)
	}
	if s.leaseTime < time.Second {
		return fmt.Errorf("--lease-time %s: must be at least 1s", s.leaseTime)
	}
	for tenant, limit := range s.limits {
		if limit < 0 {
			return fmt.Errorf("--tenant-limit %s=%d: must not be negative", tenant, limit)
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
		fmt.Fprintf(out, "Created a token in %s.\n", from)
	}
	fmt.Fprintln(
		out,
		"This is a reference scheduler, not a CI system: jobs are kept only in memory and are lost when it stops.",
	)
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
