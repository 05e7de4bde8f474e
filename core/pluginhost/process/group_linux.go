package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// GroupLives says whether a process group has a member that runs. A zombie whose
// parent doesn't care for it, as process 1 of many containers, doesn't run.
func GroupLives(group int) bool {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return false
	}
	for _, path := range stats {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		// The name in parentheses may hold anything.
		fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
		if len(fields) < 3 {
			continue
		}
		state, itsGroup := fields[0][0], string(fields[2])
		if itsGroup == strconv.Itoa(group) && state != 'Z' && state != 'X' {
			return true
		}
	}
	return false
}
