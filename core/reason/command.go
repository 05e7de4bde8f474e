package reason

import "github.com/forgeyard/forgeyard-fleet/core/reason/text"

// Command is a command line that a person can type about a reason.
type Command struct {
	// Does says what the command is for, as in "to clear it".
	Does string
	// Line is quoted for a shell.
	Line string
}

// program is the name of the command-line program.
const program = "forgeyard-fleet"

// command is a command line of the program.
func command(does string, words ...string) Command {
	return Command{does, text.Command(append([]string{program}, words...)...)}
}

// commander is a reason about which a person can type something.
type commander interface {
	Commands() []Command
}

// Commands are what a person can type about the reason; none: there is nothing.
func (r Reason) Commands() []Command {
	if d, ok := r.Params.(commander); ok {
		return d.Commands()
	}
	return nil
}
