//go:build unix

// Command ec2sim serves a simulated account on this machine, for tests and demos of
// programs that reach it by their endpoint: a plugin process, a script, the
// vendor's own command line.
//
//	ec2sim [-listen ADDRESS] [-capacity TYPE,ZONE,MARKET=N]... [-boot PROGRAM] [-certificate FILE] [...]
//
// It prints its URL as the first line of standard output, and runs until it gets
// SIGINT or SIGTERM. It uses the system's clock.
//
// Beside the API it answers, unsigned:
//
//	GET /ec2sim/machines                      the instances as JSON
//	PUT /ec2sim/capacity/TYPE,ZONE,MARKET=N   N more start there; MARKET is on-demand or spot
//
// Any client that reaches the port controls the account, so it listens only on a
// loopback address.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// room is how many more instances start in a market.
type room struct {
	market    ec2sim.Market
	instances int
}

// parseRoom reads "c7i.large,us-east-1a,spot=2".
func parseRoom(text string) (room, error) {
	name, number, found := strings.Cut(text, "=")
	words := strings.Split(name, ",")
	count, err := strconv.Atoi(number)
	if !found || err != nil || count < 0 || len(words) != 3 || words[2] != "spot" && words[2] != "on-demand" {
		return room{}, fmt.Errorf("%.80q must be like c7i.large,us-east-1a,on-demand=0, or spot instead of on-demand", text)
	}
	return room{ec2sim.Market{InstanceType: words[0], Zone: words[1], Spot: words[2] == "spot"}, count}, nil
}

// run is main with everything handed in.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	var options ec2sim.Options
	var rooms []room
	flags := flag.NewFlagSet("ec2sim", flag.ContinueOnError)
	flags.SetOutput(errs)
	listen := flags.String("listen", "127.0.0.1:0", "the loopback `ADDRESS` and port; port 0 is any that is free")
	boot := flags.String("boot", "",
		"the `PROGRAM` that plays a machine: it is started when an instance runs, with its user data on standard input, "+
			"its id in EC2SIM_INSTANCE and the URL of its metadata service in EC2SIM_METADATA; the instance ends with it, and "+
			"it with the instance")
	certificate := flags.String("certificate", "",
		"the `FILE` to write the certificate of the region into, by which identity documents are verified")
	flags.StringVar(&options.Region, "region", "us-east-1", "the `REGION` that it answers for")
	flags.BoolVar(&options.Throttled, "throttled", false, "throttle requests as published")
	flags.DurationVar(&options.Visible, "visible", 0, "how long a new instance is missing from lists")
	flags.DurationVar(&options.Running, "running", 0, "how long an instance is pending")
	flags.DurationVar(&options.Terminating, "terminating", 0, "how long an instance is shutting down")
	flags.Func("capacity", "how many more instances start in a market, as `TYPE,ZONE,MARKET=N`; may come several times",
		func(text string) error {
			one, err := parseRoom(text)
			rooms = append(rooms, one)
			return err
		})
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if address, err := netip.ParseAddrPort(*listen); err != nil || !address.Addr().IsLoopback() || flags.NArg() > 0 {
		fmt.Fprintf(errs,
			"ec2sim listens on a loopback address with a port, such as 127.0.0.1:0, not on %q, and takes no arguments "+
				"but options\n", *listen)
		return 2
	}
	account := ec2sim.New(options)
	for _, one := range rooms {
		account.SetCapacity(one.market, one.instances)
	}
	region, err := ec2sim.NewRegion(time.Now())
	if err == nil && *certificate != "" {
		err = os.WriteFile(*certificate, []byte(region.Certificate()), 0o644)
	}
	if err == nil {
		err = serve(ctx, account, *listen, func(ctx context.Context) {
			if *boot == "" {
				<-ctx.Done()
				return
			}
			newHall(account, region, *boot, errs).run(ctx)
		}, out)
	}
	if err != nil {
		fmt.Fprintln(errs, "ec2sim:", err)
		return 1
	}
	return 0
}

// serve answers while the machines run.
func serve(ctx context.Context, account *ec2sim.Simulator, listen string, machines func(context.Context),
	out io.Writer) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", listen, err)
	}
	server := &http.Server{Handler: handler(account), ReadHeaderTimeout: 10 * time.Second}
	over := make(chan error, 1)
	go func() { over <- server.Serve(listener) }()
	fmt.Fprintf(out, "http://%s\n", listener.Addr())
	machines(ctx)
	_ = server.Close() // what is under way is lost, as with any service that ends
	if err := <-over; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	}
	return nil
}

func handler(account *ec2sim.Simulator) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", account)
	mux.HandleFunc("GET /ec2sim/machines", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(account.Machines()) // an error means that the client is gone
	})
	mux.HandleFunc("PUT /ec2sim/capacity/{room}", func(w http.ResponseWriter, request *http.Request) {
		one, err := parseRoom(request.PathValue("room"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		account.SetCapacity(one.market, one.instances)
	})
	return mux
}
