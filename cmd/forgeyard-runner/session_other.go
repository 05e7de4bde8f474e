//go:build !unix

package main

import "syscall"

// ownSession has no meaning here: hosts of this system aren't joined by a command.
func ownSession() *syscall.SysProcAttr { return nil }
