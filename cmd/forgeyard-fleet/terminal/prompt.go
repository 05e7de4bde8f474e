package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Prompt is where a question is asked and answered.
type Prompt struct {
	In  io.Reader
	Out io.Writer
	// Terminal says that a person is at the other end of In.
	Terminal bool
}

// Confirm asks a question; only "yes" confirms. If the context ends before the answer,
// its error is returned.
func (p Prompt) Confirm(ctx context.Context, question string) (bool, error) {
	if !p.Terminal {
		return false, errors.New("no terminal to ask on; pass --auto-approve")
	}
	fmt.Fprintf(p.Out, "\n%s Type \"yes\" to continue: ", question)
	answer := make(chan string, 1)
	go func() {
		// Without a line there is no "yes", whatever the reason. A read can't be
		// broken off: an abandoned one ends with the process.
		line, _ := bufio.NewReader(p.In).ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(p.Out)
		return false, ctx.Err()
	case line := <-answer:
		return strings.TrimSpace(line) == "yes", ctx.Err()
	}
}
