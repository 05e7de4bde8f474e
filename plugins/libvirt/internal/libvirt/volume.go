package libvirt

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	api "github.com/digitalocean/go-libvirt"
	xmlform "libvirt.org/go/libvirtxml"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
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

// findBase finds the volume of an image. What the daemon says of its format is
// compared with its first bytes: an upload writes a volume as it comes, so a
// volume that was made raw may hold a qcow2 file, and an overlay of it would show
// the guest the file's header as its disk.
func (h *host) findBase(ctx context.Context, ref string) (base, error) {
	poolName, name, err := parseImage(ref)
	if err != nil {
		return base{}, err
	}
	pool, _, err := h.findPool(ctx, poolName)
	if err != nil {
		return base{}, err
	}
	var text string
	var volume api.StorageVol
	err = h.Look(ctx, "look at the image "+ref, func(l *api.Libvirt) (err error) {
		if volume, err = l.StorageVolLookupByName(pool, name); err == nil {
			text, err = l.StorageVolGetXMLDesc(volume, 0)
		}
		return err
	})
	if err != nil {
		return base{}, err
	}
	begin, err := h.beginOf(ctx, volume)
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
	found := base{path: said.Target.Path, format: said.Target.Format.Type, capacity: said.Capacity.Value}
	if is := begin == qcow2Magic; is != (found.format == "qcow2") {
		return base{}, &provider.Error{Class: provider.Invalid, Err: fmt.Errorf(
			"the image %s on host %s is called %s and its content says otherwise: run virsh pool-refresh %s there", ref, h.name, found.format, poolName)}
	}
	return found, nil
}

// beginOf reads the first bytes of a volume. The library takes an empty packet for
// the end of a download, and a daemon that isn't ready may begin with one.
func (h *host) beginOf(ctx context.Context, volume api.StorageVol) (string, error) {
	for range 10 {
		var begin bytes.Buffer
		err := h.Look(ctx, "read the begin of the volume "+volume.Name, func(l *api.Libvirt) error {
			begin.Reset()
			return l.StorageVolDownload(volume, &begin, 0, uint64(len(qcow2Magic)), 0)
		})
		if err != nil || begin.Len() == len(qcow2Magic) {
			return begin.String(), err
		}
	}
	return "", fmt.Errorf("the begin of the volume %s on host %s can't be read", volume.Name, h.name)
}

// qcow2Magic begins every qcow2 file.
const qcow2Magic = "QFI\xfb"

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
