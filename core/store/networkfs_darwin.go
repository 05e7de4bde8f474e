package store

import "golang.org/x/sys/unix"

// networkFileSystem names the network file system that path is on; "": none.
func networkFileSystem(path string) (string, error) {
	var found unix.Statfs_t
	if err := unix.Statfs(path, &found); err != nil {
		return "", err
	}
	if found.Flags&unix.MNT_LOCAL != 0 {
		return "", nil
	}
	return unix.ByteSliceToString(found.Fstypename[:]), nil
}
