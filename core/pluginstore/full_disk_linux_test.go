package pluginstore

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAFullDiskLeavesNoBlob(t *testing.T) {
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system can be mounted by root only: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(small, "plugins")
	store, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.InstallFromDir(t.Context(), sourceWithPlugin(t, 1<<20), "local", "", describeAsOne)
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if blobs, tmp := matches(t, dir, "blobs/sha256/*"), matches(t, dir, "tmp/*"); len(blobs) != 0 || len(tmp) != 0 {
		t.Errorf("blobs %v, tmp %v", blobs, tmp)
	}
	if _, err := store.InstallFromDir(t.Context(), sourceWithPlugin(t, 1000), "local", "", describeAsOne); err != nil {
		t.Errorf("a smaller plugin must still fit: %v", err)
	}
}
