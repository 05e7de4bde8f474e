package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
)

// queueWorker is this program as the worker of a forgeyard-queue: the agent
// starts it so once the runner is admitted. When taking ends (SIGTERM) it takes
// no more jobs, finishes those that it has and ends.
func queueWorker(taking context.Context, args []string, errs io.Writer) int {
	if len(args) > 0 {
		fmt.Fprintln(
			errs,
			"forgeyard-runner queue-worker takes no arguments: the agent passes the address of the queue in the environment",
		)
		return exitUsage
	}
	log := slog.New(slog.NewJSONHandler(errs, nil))
	c, err := worker.FromEnvironment(log)
	if err == nil {
		err = worker.Run(context.Background(), taking, c)
	}
	if err != nil {
		log.Error("the worker failed", "error", err)
		return exitFailed
	}
	log.Info("the worker ended")
	return exitDone
}
