//go:build unix && !linux

package process

import "syscall"

// GroupLives says whether a process group has a member.
func GroupLives(group int) bool { return syscall.Kill(-group, 0) == nil }
