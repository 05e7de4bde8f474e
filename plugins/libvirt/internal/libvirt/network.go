package libvirt

import (
	"context"
	"fmt"
	"strings"

	api "github.com/digitalocean/go-libvirt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/daemon"
)

// parseNetwork splits "network:default" and its like.
func parseNetwork(text string) (kind, name string, err error) {
	kind, name, named := strings.Cut(text, ":")
	switch {
	case text == "user":
		return kind, "", nil
	case named && (kind == "network" || kind == "bridge") && namePattern.MatchString(name):
		return kind, name, nil
	}
	return "", "", fmt.Errorf(`%q must be "network:NAME", "bridge:NAME" or "user"`, text)
}

// hasNetwork refuses a network of libvirt's that isn't there or isn't active, before
// anything is made that would only be found out by it. Only the daemon
// knows what a bridge is.
func (h *host) hasNetwork(ctx context.Context, text string) error {
	kind, name, err := parseNetwork(text)
	if err != nil || kind != "network" {
		return err
	}
	var active int32
	err = h.Look(ctx, "look at the network "+name, func(l *api.Libvirt) error {
		network, err := l.NetworkLookupByName(name)
		if err == nil {
			active, err = l.NetworkIsActive(network)
		}
		return err
	})
	switch {
	case daemon.IsNotFound(err):
		err = fmt.Errorf("%w: define it there (virsh net-define), or name one that virsh net-list --all shows", err)
	case err != nil:
		return err
	case active == 0:
		err = fmt.Errorf(
			"the network %s on host %s isn't active: virsh net-start %s, and virsh net-autostart %s for the next time", name,
			h.name, name, name)
	default:
		return nil
	}
	return &provider.Error{Class: provider.Invalid, Err: err}
}
