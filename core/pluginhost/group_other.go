//go:build unix && !linux

package pluginhost

import "syscall"

// groupLives says whether a process group has a member.
func groupLives(group int) bool { return syscall.Kill(-group, 0) == nil }
