//go:build unix

package main

import "syscall"

// ownSession keeps a process from ending with the terminal that started it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
