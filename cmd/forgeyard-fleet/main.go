// Command forgeyard-fleet plans, applies and shows runner fleets.
package main

import (
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
	"google.golang.org/grpc/grpclog"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/render"
	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
	"github.com/forgeyard/forgeyard-fleet/cmd/internal/version"
)

func main() {
	// What goes wrong with a plugin is said once, by the caller in our own words.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	ctx, hurry := terminal.Interruptions(interrupts, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	a := &app{
		in:  os.Stdin,
		out: os.Stdout,
		err: os.Stderr,
		inTerminal: term.IsTerminal(
			int(os.Stdin.Fd()),
		),
		outTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		errTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		width:       terminalWidth,
		lookupEnv:   os.LookupEnv,
		environ:     os.Environ,
		now:         func() time.Time { return time.Now().UTC() },
		version:     version.Version,
		hurry:       hurry,
	}
	os.Exit(a.run(ctx, os.Args[1:]))
}

// terminalWidth is how many columns standard output has.
func terminalWidth() int {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || width <= 0 {
		return render.PlainWidth
	}
	return width
}
