package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
)

// confirm asks a question; only "yes" confirms. If the context ends before the answer,
// its error is returned.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	if !a.inTerminal {
		return false, errors.New("no terminal to ask on; pass --auto-approve")
	}
	fmt.Fprintf(a.out, "\n%s Type \"yes\" to continue: ", question)
	answer := make(chan string, 1)
	go func() {
		// Without a line there is no "yes", whatever the reason. A read can't be
		// broken off: an abandoned one ends with the process.
		line, _ := bufio.NewReader(a.in).ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		a.printf("\n")
		return false, ctx.Err()
	case line := <-answer:
		return strings.TrimSpace(line) == "yes", ctx.Err()
	}
}
