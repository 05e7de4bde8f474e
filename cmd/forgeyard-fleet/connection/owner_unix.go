//go:build unix

package connection

import (
	"io/fs"
	"strconv"
	"syscall"
)

// ownerOf is the numeric id of a file's owner.
func ownerOf(info fs.FileInfo) (uid string, found bool) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(uint64(stat.Uid), 10), true
	}
	return "", false
}
