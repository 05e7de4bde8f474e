package store

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestNetworkFileSystemsAreRefused(t *testing.T) {
	const (
		ext4, tmpfs, btrfs, overlay = unix.EXT4_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.BTRFS_SUPER_MAGIC,
			unix.OVERLAYFS_SUPER_MAGIC
	)
	for _, test := range []struct {
		name  string
		magic uint32
		kind  string
		want  string
	}{
		{"a local disk is taken", ext4, "", ""},
		{"memory is taken", tmpfs, "", ""},
		{"btrfs is taken", btrfs, "", ""},
		{"a container's overlay is taken", overlay, "", ""},
		{"NFS is refused", 0x6969, "", "NFS"},
		{"SMB is refused", 0x517B, "", "SMB"},
		{"SMB 2 is refused", 0xFE534D42, "", "SMB"},
		{"CIFS is refused", 0xFF534D42, "", "CIFS"},
		{"Ceph is refused", 0x00C36400, "", "Ceph"},
		{"a share of a virtual machine's host is refused", 0x01021997, "", "9P"},
		{"sshfs is refused", fuse, "fuse.sshfs", "fuse.sshfs"},
		{"FUSE of a kind that can't be found is refused", fuse, "", "FUSE"},
		{"a local disk by FUSE is taken", fuse, "fuseblk", ""},
		{"a rootless container's overlay is taken", fuse, "fuse.fuse-overlayfs", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := networkKind(test.magic, test.kind); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestKindOfMountIsFoundByDevice(t *testing.T) {
	mounts := []byte(`22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
91 22 0:45 / /mnt/far rw,nosuid,nodev shared:50 master:2 - fuse.sshfs ada@far:/srv rw,user_id=0
92 22 0:46 / /mnt/disk rw - fuseblk /dev/sdb1 rw
`)
	for device, want := range map[[2]uint32]string{{8, 1}: "ext4", {0, 45}: "fuse.sshfs", {0, 46}: "fuseblk", {0, 4}: ""} {
		if got := mountedKind(mounts, device[0], device[1]); got != want {
			t.Errorf("device %v: got %q, want %q", device, got, want)
		}
	}
}
