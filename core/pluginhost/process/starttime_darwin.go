package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// StartTime is the moment at which a process started.
func StartTime(pid int) (string, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", fmt.Errorf("ask for process %d: %w", pid, err)
	}
	if info.Proc.P_pid != int32(pid) {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return fmt.Sprintf("%d.%06d", info.Proc.P_starttime.Sec, info.Proc.P_starttime.Usec), nil
}

// awaitExit can't tell of an end without reaping here.
func awaitExit(int) bool { return false }
