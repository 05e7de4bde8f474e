package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
)

// confirm asks a question that only "yes" answers. The error is the context's
// where that ends before the answer: a question must not outlive the wish to go on.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	if !a.inTerminal {
		return false, errors.New("nobody can be asked here; pass --auto-approve to go on without a question")
	}
	fmt.Fprintf(a.out, "\n%s Only \"yes\" goes on: ", question)
	answer := make(chan string, 1)
	go func() {
		// Without a line there is no "yes", whatever the reason. A read can't be
		// broken off: one that nobody waits for any more ends with the process.
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
