//go:build !failpoint

package failpoint

// Hit does nothing in this build.
func (point) Hit() {}
