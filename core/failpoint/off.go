//go:build !failpoint

package failpoint

import "time"

// Enabled says that points can be armed in this build. What only finds out which
// point is meant stands behind it, and is left out of other builds.
const Enabled = false

// Hit does nothing in this build.
func (point) Hit() {}

// CertificateLife is how long agents' certificates live: normal.
func CertificateLife(normal time.Duration) time.Duration { return normal }
