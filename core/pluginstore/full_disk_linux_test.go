package pluginstore

import (
	"errors"
	"path/filepath"
	"strings"
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
	origin := layoutOf(t)
	publish(t, origin, releaseOf(t, example, "1.4.2", nil))
	u := newUser(t, origin, example, "")
	u.required.AllowUnsigned = true
	u.dir = filepath.Join(small, "plugins")
	store, err := Open(u.dir)
	if err != nil {
		t.Fatal(err)
	}
	u.Store = store
	refused[*FullError](u, u.plain, "no room left", u.dir, "must take ", "FLEET_PLUGIN_DIR")
	if _, err := u.plain(); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	// The advice: some space is freed.
	if err := unix.Mount("", small, "", unix.MS_REMOUNT, "size=2m"); err != nil {
		t.Fatal(err)
	}
	u.mustInstall()
}

// The limit of a process on the size of its files ends a write in the middle,
// without any right that only root has.
func TestALimitOnFilesLeavesNoBlob(t *testing.T) {
	origin := layoutOf(t)
	publish(t, origin, releaseOf(t, example, "1.4.2", nil))
	dir := filepath.Join(t.TempDir(), "plugins")
	command := child(t, dir, origin.Layout, "")
	command.Env = append(command.Env, childLimit+"=65536")
	out, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no room left") {
		t.Errorf("%v: %s", err, out)
	}
	if blobs, tmp := matches(t, dir, "blobs/sha256/*"), matches(t, dir, "tmp/*"); len(blobs) != 0 || len(tmp) != 0 {
		t.Errorf("blobs %v, tmp %v", blobs, tmp)
	}
	if out, err := child(t, dir, origin.Layout, "").CombinedOutput(); err != nil {
		t.Errorf("without the limit: %v: %s", err, out)
	}
}
