package libvirt

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	api "github.com/digitalocean/go-libvirt"
	xmlform "libvirt.org/go/libvirtxml"

	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/daemon"
)

// What belongs to a machine, by the end of its volume's name.
const (
	overlayEnd = "qcow2"
	seedEnd    = "seed.iso"
)

var ends = []string{overlayEnd, seedEnd}

// volumeName has the key in it, which is what proves whose it is. Neither an
// installation nor a key has a dot.
func volumeName(installation, key, end string) string { return installation + "." + key + "." + end }

// partOf takes a volume's name apart; ours says whether it is one of the
// installation's.
func partOf(installation, name string) (key, end string, ours bool) {
	rest, begins := strings.CutPrefix(name, installation+".")
	key, end, dotted := strings.Cut(rest, ".")
	return key, end, begins && dotted && key != "" && (end == overlayEnd || end == seedEnd)
}

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
		return "", "", fmt.Errorf(`the image %q is no volume; its reference is "pool:POOL/VOLUME", such as "pool:default/debian-12.qcow2"`, ref)
	}
	return pool, volume, nil
}

// findBase finds the volume of an image. Its pool is read anew before: an upload or
// a copy writes a volume as it comes, so one that was made raw may hold a qcow2
// file by now, and an overlay of it would show the guest the file's header as its
// disk. To look at the content instead isn't safe: the library takes an empty
// packet for the end of a download, and then waits for itself at the next.
func (h *host) findBase(ctx context.Context, ref string) (base, error) {
	poolName, name, err := parseImage(ref)
	if err != nil {
		return base{}, err
	}
	pool, _, err := h.findPool(ctx, poolName)
	if err != nil {
		return base{}, err
	}
	err = h.Look(ctx, "refresh the pool "+poolName, func(l *api.Libvirt) error { return l.StoragePoolRefresh(pool, 0) })
	if unknown(err) {
		return base{}, err // a refusal is no harm: somebody makes a volume just now
	}
	var text string
	err = h.Look(ctx, "look at the image "+ref, func(l *api.Libvirt) error {
		volume, err := l.StorageVolLookupByName(pool, name)
		if err == nil {
			text, err = l.StorageVolGetXMLDesc(volume, 0)
		}
		return err
	})
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
	return base{path: said.Target.Path, format: said.Target.Format.Type, capacity: said.Capacity.Value}, nil
}

// path is where a volume of ours is.
func path(folder, name string) string { return filepath.Join(folder, name) }

// createOverlay makes the machine's disk.
func (h *host) createOverlay(ctx context.Context, pool api.StoragePool, name string, b base, size uint64) error {
	volume := ownVolume(name, overlayEnd, max(size, b.capacity))
	volume.BackingStore = &xmlform.StorageVolumeBackingStore{Path: b.path, Format: &xmlform.StorageVolumeTargetFormat{Type: b.format}}
	text, err := volume.Marshal()
	if err != nil {
		return err
	}
	return h.Change(ctx, "make the volume "+name, func(l *api.Libvirt) error {
		_, err := l.StorageVolCreateXML(pool, text, 0)
		return err
	})
}

// createSeed makes the volume with the first-boot document. It is raw, since an
// upload writes bytes and knows no format.
func (h *host) createSeed(ctx context.Context, pool api.StoragePool, name string, content []byte) error {
	made := ownVolume(name, "raw", uint64(len(content)))
	text, err := made.Marshal()
	if err != nil {
		return err
	}
	return h.Change(ctx, "make the volume "+name, func(l *api.Libvirt) error {
		volume, err := l.StorageVolCreateXML(pool, text, 0)
		if err != nil {
			return err
		}
		return l.StorageVolUpload(volume, bytes.NewReader(content), 0, uint64(len(content)), 0)
	})
}

// ownVolume is readable by nobody but the daemon and the machine.
func ownVolume(name, format string, bytes uint64) xmlform.StorageVolume {
	return xmlform.StorageVolume{
		Name: name, Capacity: &xmlform.StorageVolumeSize{Unit: "bytes", Value: bytes},
		Target: &xmlform.StorageVolumeTarget{
			Format: &xmlform.StorageVolumeTargetFormat{Type: format}, Permissions: &xmlform.StorageVolumeTargetPermissions{Mode: "0600"},
		},
	}
}

// deleteVolume removes a volume of ours. One that isn't there is removed.
func (h *host) deleteVolume(ctx context.Context, pool api.StoragePool, name string) error {
	var volume api.StorageVol
	err := h.Look(ctx, "look for the volume "+name, func(l *api.Libvirt) (err error) {
		volume, err = l.StorageVolLookupByName(pool, name)
		return err
	})
	if err == nil {
		err = h.Change(ctx, "remove the volume "+name, func(l *api.Libvirt) error { return l.StorageVolDelete(volume, 0) })
	}
	if daemon.IsNotFound(err) {
		return nil
	}
	return err
}

// ownVolumes lists the names of the installation's volumes in the pool.
func (h *host) ownVolumes(ctx context.Context, pool api.StoragePool, installation string) ([]string, error) {
	var volumes []api.StorageVol
	err := h.Look(ctx, "list the volumes of the pool "+h.pool, func(l *api.Libvirt) (err error) {
		volumes, _, err = l.StoragePoolListAllVolumes(pool, 1, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, v := range volumes {
		if _, _, ours := partOf(installation, v.Name); ours {
			names = append(names, v.Name)
		}
	}
	return names, nil
}
