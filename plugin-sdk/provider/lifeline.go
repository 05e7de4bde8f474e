package provider

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// outliveSignals lets only the end of standard input stop the plugin. A service
// manager or a terminal signals the whole group, and a plugin that went first
// would leave the host unable to drain it. SIGPIPE comes from logging after the
// host has died, while the last calls still finish.
//
// The signals are received and dropped, not ignored: an ignored signal stays
// ignored in every child process.
func outliveSignals() {
	received := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	go func() {
		for range received {
		}
	}()
}

// keepLaunchLock marks the inherited descriptor close-on-exec. It stays open for
// the life of the process; nothing else is done with it.
func keepLaunchLock(number string) error {
	if number == "" {
		return nil
	}
	descriptor, err := strconv.Atoi(number)
	if err != nil || descriptor <= 2 {
		return fmt.Errorf("%s=%q is not a file descriptor that a host passes on", providerpb.LaunchLockEnv, number)
	}
	if err := closeOnExec(descriptor); err != nil {
		return fmt.Errorf("the launch lock (descriptor %d, from %s) isn't open: %w", descriptor, providerpb.LaunchLockEnv,
			err)
	}
	return nil
}
