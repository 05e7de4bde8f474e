package terminal

import "fmt"

// Exit codes.
const (
	ExitDone        = 0
	ExitError       = 1
	ExitChanges     = 2 // plan --detailed-exitcode
	ExitUnresolved  = 3 // stored, but something is still in progress or unknown
	ExitDeclined    = 4
	ExitInterrupted = 130
)

// ExitStatus ends a command with a code after everything has been said.
type ExitStatus int

func (e ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
