package libvirt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	api "github.com/digitalocean/go-libvirt"
	xmlform "libvirt.org/go/libvirtxml"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/daemon"
)

// base is the volume that an image refers to.
type base struct {
	path     string
	format   string
	capacity uint64 // bytes, as a guest sees it
}

// parseImage reads "pool:POOL/VOLUME".
func parseImage(ref string) (pool, volume string, err error) {
	rest, begins := strings.CutPrefix(ref, "pool:")
	pool, volume, parted := strings.Cut(rest, "/")
	if !begins || !parted || !namePattern.MatchString(pool) || volume == "" || strings.Contains(volume, "/") {
		return "", "",
			fmt.Errorf(`invalid image %q: its reference is "pool:POOL/VOLUME", such as "pool:default/debian-12.qcow2"`, ref)
	}
	return pool, volume, nil
}

// findBase finds the volume of an image. Its pool is refreshed before: an upload or
// a copy writes a volume as it comes, so one that was made raw may hold a qcow2
// file by now, and an overlay of it would show the guest the file's header as its
// disk. To look at the content instead isn't safe: the library takes an empty
// packet for the end of a download, and then waits for itself at the next.
func (h *host) findBase(ctx context.Context, ref string) (base, error) {
	poolName, name, err := parseImage(ref)
	if err != nil {
		return base{}, err
	}
	pool, err := h.findPool(ctx, poolName)
	if err == nil {
		err = h.refresh(ctx, pool)
	}
	if err != nil {
		return base{}, err
	}
	var text string
	err = h.Look(ctx, "look at the image "+ref, func(l *api.Libvirt) error {
		volume, err := l.StorageVolLookupByName(pool.StoragePool, name)
		if err == nil {
			text, err = l.StorageVolGetXMLDesc(volume, 0)
		}
		return err
	})
	if daemon.IsNotFound(err) {
		return base{},
			&provider.Error{Class: provider.Invalid,
				Err: fmt.Errorf("%w: put the image's file into %s on that host, or correct the image's refs", err, pool.folder)}
	}
	if err != nil {
		return base{}, err
	}
	var said xmlform.StorageVolume
	if err := said.Unmarshal(text); err != nil {
		return base{}, fmt.Errorf("the image %s on host %s can't be read: %w", ref, h.name, err)
	}
	if said.Target == nil || said.Target.Path == "" || said.Target.Format == nil || said.Capacity == nil {
		return base{}, fmt.Errorf("the image %s on host %s has no path, format or size", ref, h.name)
	}
	b := base{path: said.Target.Path, format: said.Target.Format.Type, capacity: said.Capacity.Value}
	if reason := b.unfit(name); reason != "" {
		return base{},
			&provider.Error{Class: provider.Invalid, Err: fmt.Errorf("the image %s on host %s %s", ref, h.name, reason)}
	}
	return b, nil
}

// diskFormats are those of an image that a disk can be an overlay of.
var diskFormats = []string{"raw", "qcow2", "qcow", "qed", "vdi", "vmdk", "vpc"}

// leastImage is less than any system needs, in bytes: below it something else was
// copied, or the half of it.
const leastImage = 1 << 20

// unfit says why nothing can boot from the volume; empty: it may.
func (b base) unfit(name string) string {
	packed := func(end string) bool { return strings.HasSuffix(name, end) }
	switch {
	case !slices.Contains(diskFormats, b.format):
		return fmt.Sprintf("is of the form %q, and no disk: use one that is %s", b.format, strings.Join(diskFormats, ", "))
	case b.format == "raw" && slices.ContainsFunc([]string{".xz", ".gz", ".zst", ".bz2", ".zip"}, packed):
		return "is packed: unpack it there, and refer to what comes out"
	case b.format == "raw" && strings.HasSuffix(name, ".qcow2"):
		return "isn't in the qcow2 format, whatever its name says: copy it again, and check it with qemu-img info"
	case b.capacity < leastImage:
		return fmt.Sprintf("has %d bytes, too few for a system: copy it again, and check it with qemu-img info", b.capacity)
	}
	return ""
}
