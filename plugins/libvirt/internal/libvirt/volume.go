package libvirt

import (
	"bytes"
	"context"
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

// path is where a volume of ours is.
func path(folder, name string) string { return filepath.Join(folder, name) }

// createOverlay makes the machine's disk.
func (h *host) createOverlay(ctx context.Context, in pool, name string, b base, size uint64) error {
	volume := ownVolume(name, overlayEnd, max(size, b.capacity))
	volume.Target.Compat = "1.1" // the daemon's default is the form of 2010
	volume.BackingStore = &xmlform.StorageVolumeBackingStore{Path: b.path,
		Format: &xmlform.StorageVolumeTargetFormat{Type: b.format}}
	text, err := volume.Marshal()
	if err != nil {
		return err
	}
	return h.Change(ctx, "make the volume "+name, func(l *api.Libvirt) error {
		_, err := l.StorageVolCreateXML(in.StoragePool, text, 0)
		return err
	})
}

// createSeed makes the volume with the first-boot document. It is raw, since an
// upload writes bytes and knows no format.
func (h *host) createSeed(ctx context.Context, in pool, name string, content []byte) error {
	made := ownVolume(name, "raw", uint64(len(content)))
	text, err := made.Marshal()
	if err != nil {
		return err
	}
	var volume api.StorageVol
	err = h.Change(ctx, "make the volume "+name, func(l *api.Libvirt) (err error) {
		volume, err = l.StorageVolCreateXML(in.StoragePool, text, 0)
		return err
	})
	if err != nil {
		return err
	}
	return h.Change(ctx, "fill the volume "+name, func(l *api.Libvirt) error {
		return l.StorageVolUpload(volume, bytes.NewReader(content), 0, uint64(len(content)), 0)
	})
}

// ownVolume is readable only by the daemon and the machine.
func ownVolume(name, format string, bytes uint64) xmlform.StorageVolume {
	return xmlform.StorageVolume{
		Name: name, Capacity: &xmlform.StorageVolumeSize{Unit: "bytes", Value: bytes},
		Target: &xmlform.StorageVolumeTarget{
			Format:      &xmlform.StorageVolumeTargetFormat{Type: format},
			Permissions: &xmlform.StorageVolumeTargetPermissions{Mode: "0600"},
		},
	}
}

// deleteVolume removes a volume of ours. One that isn't there is removed.
func (h *host) deleteVolume(ctx context.Context, in pool, name string) error {
	var volume api.StorageVol
	err := h.Look(ctx, "look for the volume "+name, func(l *api.Libvirt) (err error) {
		volume, err = l.StorageVolLookupByName(in.StoragePool, name)
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
func (h *host) ownVolumes(ctx context.Context, in pool, installation string) ([]string, error) {
	var volumes []api.StorageVol
	err := h.Look(ctx, "list the volumes of the pool "+h.pool, func(l *api.Libvirt) (err error) {
		volumes, _, err = l.StoragePoolListAllVolumes(in.StoragePool, 1, 0)
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
