package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/agentserver"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// joinBootstrap is the first-boot document for the host, and what a person should
// know about the address in it.
func (d *Daemon) joinBootstrap(
	ctx context.Context,
	provider fleet.ProviderAddress,
	p fleet.Platform,
) (boot fleet.BootstrapIntent, notes []string, err error) {
	if p.OS == "windows" {
		return boot, nil, &access.InvalidError{Reason: "hosts with Windows can't be joined by a command in this version"}
	}
	d.mu.Lock()
	r := d.running
	d.mu.Unlock()
	if r != nil {
		boot, err = r.issuer.Bootstrap(provider, "", p)
	} else {
		notes = append(notes, "No manager is running: the host can be joined as soon as forgeyard-fleet serve runs.")
		boot, err = d.stoppedBootstrap(ctx, provider, p)
	}
	if none, ok := errors.AsType[*agentserver.NoAgentError](err); ok {
		return boot, nil, &access.InvalidError{Reason: none.Error()}
	}
	if err == nil && onlyHere(boot.ManagerURL) {
		notes = append(
			notes,
			fmt.Sprintf(
				"The manager's address %s is reachable only from this machine; for other hosts, set manager { listen, advertise "+
					"} in the forgeyard block.",
				boot.ManagerURL,
			),
		)
	}
	return boot, notes, err
}

// stoppedBootstrap is the document of a manager that doesn't run now: with the
// address that it will have.
func (d *Daemon) stoppedBootstrap(
	ctx context.Context,
	provider fleet.ProviderAddress,
	p fleet.Platform,
) (fleet.BootstrapIntent, error) {
	applied, _, err := d.store.Definition(ctx)
	if err != nil {
		return fleet.BootstrapIntent{}, err
	}
	settings := applied.Definition.Manager
	address := strings.TrimSuffix(applied.Definition.AdvertiseFor(provider), "/")
	if address == "" {
		listen := settings.Listen
		if listen == "" {
			if listen, _, err = d.store.Setting(ctx, "listen"); err != nil {
				return fleet.BootstrapIntent{}, err
			}
		}
		if _, port, err := net.SplitHostPort(listen); err != nil || port == "0" {
			return fleet.BootstrapIntent{}, &access.InvalidError{
				Reason: "the manager's address isn't known yet: start forgeyard-fleet serve first, or set manager { advertise }",
			}
		}
		address = "https://" + listen
	}
	sum, err := agentserver.NewAgentBinaries(workspace.AgentFolder(settings)).SHA256(p.Target())
	if err != nil {
		return fleet.BootstrapIntent{}, err
	}
	return d.bootstrap("", address, p, sum), nil
}

// onlyHere says that an address leads nowhere from another machine.
func onlyHere(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}
