package process

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// StartTime is the boot and the clock tick at which a process started.
func StartTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field is the program's name in parentheses and may hold
	// anything; the start time is the 20th field after it.
	_, after, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	fields := bytes.Fields(after)
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat has %d fields after the name, not 20", pid, len(fields))
	}
	if fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(boot)) + "/" + string(fields[19]), nil
}

// awaitExit waits for a child's end and leaves it unreaped, so that its pid and
// process group can't be given to anyone else yet.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
