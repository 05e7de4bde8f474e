package agent

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// load1 is the host's load over one minute; 0: not known.
func load1() float64 {
	// struct loadavg { fixpt_t ldavg[3]; long fscale; }
	raw, err := unix.SysctlRaw("vm.loadavg")
	if err != nil || len(raw) < 24 {
		return 0
	}
	scale := binary.LittleEndian.Uint64(raw[16:])
	if scale == 0 {
		return 0
	}
	return float64(binary.LittleEndian.Uint32(raw)) / float64(scale)
}

// diskFree is how many bytes the folder's disk has left for us; 0: not known.
func diskFree(folder string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(folder, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * int64(s.Bsize)
}
