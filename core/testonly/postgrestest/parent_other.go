//go:build unix && !linux

package postgrestest

import "syscall"

// endWithParent can't do anything here: a killed test binary leaves its server.
func endWithParent(*syscall.SysProcAttr) {}
