package store

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// fuse is the magic number that all file systems in user space share.
const fuse = unix.FUSE_SUPER_MAGIC

// networkMagics are the numbers by which the kernel tells network file systems.
var networkMagics = map[uint32]string{
	unix.NFS_SUPER_MAGIC:  "NFS",
	unix.SMB_SUPER_MAGIC:  "SMB",
	unix.SMB2_SUPER_MAGIC: "SMB",
	unix.CIFS_SUPER_MAGIC: "CIFS",
	unix.AFS_SUPER_MAGIC:  "AFS",
	unix.AFS_FS_MAGIC:     "AFS",
	unix.CODA_SUPER_MAGIC: "Coda",
	unix.CEPH_SUPER_MAGIC: "Ceph",
	unix.V9FS_MAGIC:       "9P",
	0x0BD00BD0:            "Lustre",
	0x47504653:            "GPFS",
}

// localFUSE are the file systems in user space whose files are only on
// this machine. All others (sshfs, s3fs, shares of a virtual machine's host) are
// refused: they are remote, or may be.
var localFUSE = []string{"fuseblk", "fuse.fuse-overlayfs"}

// networkFileSystem names the network file system that path is on; "": none.
func networkFileSystem(path string) (string, error) {
	var found unix.Statfs_t
	if err := unix.Statfs(path, &found); err != nil {
		return "", err
	}
	kind := ""
	if uint32(found.Type) == fuse {
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return "", err
		}
		var stat unix.Stat_t
		if err := unix.Stat(path, &stat); err != nil {
			return "", err
		}
		kind = mountedKind(mounts, unix.Major(stat.Dev), unix.Minor(stat.Dev))
	}
	return networkKind(uint32(found.Type), kind), nil
}

// networkKind classifies a file system by its magic number and, for FUSE, by the
// kind that its mount has.
func networkKind(magic uint32, kind string) string {
	if magic != fuse {
		return networkMagics[magic]
	}
	for _, local := range localFUSE {
		if kind == local {
			return ""
		}
	}
	if kind == "" {
		return "FUSE"
	}
	return kind
}

// mountedKind finds the kind of the file system with the given device number in
// the text of mountinfo: its third field is the device, the kind follows " - ".
func mountedKind(mountinfo []byte, major, minor uint32) string {
	device := fmt.Sprintf("%d:%d", major, minor)
	lines := bufio.NewScanner(bytes.NewReader(mountinfo))
	for lines.Scan() {
		mount, source, _ := strings.Cut(lines.Text(), " - ")
		if fields := strings.Fields(mount); len(fields) > 2 && fields[2] == device {
			kind, _, _ := strings.Cut(source, " ")
			return kind
		}
	}
	return ""
}
