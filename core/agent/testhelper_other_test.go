//go:build !linux

package agent

// beTestHelper is Linux's.
func beTestHelper() {}
