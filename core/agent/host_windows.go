package agent

import "golang.org/x/sys/windows"

// load1 isn't known on Windows.
func load1() float64 { return 0 }

// diskFree is how many bytes the folder's disk has left for us; 0: not known.
func diskFree(folder string) int64 {
	path, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0
	}
	var free uint64
	if windows.GetDiskFreeSpaceEx(path, &free, nil, nil) != nil {
		return 0
	}
	return int64(free)
}
