package libvirt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	api "github.com/digitalocean/go-libvirt"
	xmlform "libvirt.org/go/libvirtxml"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/daemon"
)

// pool is a storage pool that is running, and a folder.
type pool struct {
	api.StoragePool
	folder string
}

// findPool finds a pool that can be used.
func (h *host) findPool(ctx context.Context, name string) (pool, error) {
	var found pool
	var text string
	var active int32
	err := h.Look(ctx, "look at the pool "+name, func(l *api.Libvirt) (err error) {
		if found.StoragePool, err = l.StoragePoolLookupByName(name); err != nil {
			return err
		}
		if active, err = l.StoragePoolIsActive(found.StoragePool); err != nil {
			return err
		}
		text, err = l.StoragePoolGetXMLDesc(found.StoragePool, 0)
		return err
	})
	if daemon.IsNotFound(err) {
		return pool{},
			&provider.Error{Class: provider.Invalid,
				Err: fmt.Errorf("%w: make it there (virsh pool-define-as), or name one that virsh pool-list --all shows", err)}
	}
	if err != nil {
		return pool{}, err
	}
	var said xmlform.StoragePool
	if err := said.Unmarshal(text); err != nil {
		return pool{}, fmt.Errorf("the pool %s on host %s can't be read: %w", name, h.name, err)
	}
	switch said.Type {
	case "dir", "fs", "netfs":
	default:
		return pool{},
			&provider.Error{Class: provider.Invalid,
				Err: fmt.Errorf("the pool %s on host %s is of the type %q; overlays need a directory (dir, fs or netfs)", name,
					h.name, said.Type)}
	}
	if active == 0 {
		return pool{},
			&provider.Error{Class: provider.Transient,
				Err: fmt.Errorf(
					"the pool %s on host %s isn't active: virsh pool-start %s, and virsh pool-autostart %s for the next time", name,
					h.name, name, name)}
	}
	if said.Target == nil || !filepath.IsAbs(said.Target.Path) {
		return pool{}, errors.New("the pool " + name + " on host " + h.name + " has no folder")
	}
	found.folder = said.Target.Path
	return found, nil
}

// refresh has the daemon read the pool's folder again. A refusal can be ignored: a
// volume is being created just now.
func (h *host) refresh(ctx context.Context, p pool) error {
	err := h.Look(ctx, "refresh the pool "+p.Name, func(l *api.Libvirt) error {
		return l.StoragePoolRefresh(p.StoragePool, 0)
	})
	if unknown(err) {
		return err
	}
	return nil
}

// sparedDisk is what a pool must have left for another machine, in bytes. Overlays
// grow as their guests write, and a guest whose disk can't is stopped by QEMU.
const sparedDisk = 1 << 30

// hasDisk refuses a pool that is all but full.
func (h *host) hasDisk(ctx context.Context, p pool) error {
	if err := h.refresh(ctx, p); err != nil {
		return err
	}
	var left uint64
	err := h.Look(ctx, "look at the pool "+p.Name, func(l *api.Libvirt) (err error) {
		_, _, _, left, err = l.StoragePoolGetInfo(p.StoragePool)
		return err
	})
	if err == nil && left < sparedDisk {
		return &provider.Error{Class: provider.Capacity, Zone: h.name, MachineType: machineType, Err: fmt.Errorf(
			"the pool %s on host %s has %s left, and a machine needs %s at least: make room in %s", p.Name, h.name,
			showSize(left), showSize(sparedDisk), p.folder)}
	}
	return err
}
