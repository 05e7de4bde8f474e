package process

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// Terminate presses Ctrl-Break for a process that leads a console group. That
// needs a console which both share; where the agent is a service there is none,
// and the worker then has to be ended by its scheduler.
func Terminate(p *os.Process) error {
	if err := windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.Pid)); err != nil {
		return fmt.Errorf("press Ctrl-Break for process %d: %w", p.Pid, err)
	}
	return nil
}
