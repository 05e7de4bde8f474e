//go:build unix

package pluginstore

import "golang.org/x/sys/unix"

// limitFiles bounds how large a file this process may write.
func limitFiles(bytes uint64) error {
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: bytes})
}
