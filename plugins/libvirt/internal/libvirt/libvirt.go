package libvirt

import (
	"context"
	"log/slog"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/daemon"
)

// hosts are the hosts of one provider block.
type hosts struct {
	installation string
	all          []*host
	shutdown     time.Duration // how long a guest may take
	memory       *memory
	placement    *placement
	logger       *slog.Logger
	now          func() time.Time
}

const (
	connectLimit = 10 * time.Second
	// settleTime is what a daemon gets, once it answers again, to finish a request
	// whose answer was lost.
	settleTime = 2 * time.Second
	// listSettle is the same for a plugin that was restarted in between.
	listSettle = 5 * time.Second
	// parallel machines are made or ended at once; most of the time is waiting for
	// guests to shut down.
	parallel = 16
)

// Plugin is the plugin for Serve.
func Plugin(version string) provider.Plugin[Config, Instance] {
	return provider.Plugin[Config, Instance]{
		Name: "libvirt", Version: version, New: newHosts,
		Idempotency: provider.IdempotentByTag, Ownership: provider.OwnershipSigned,
		ListSettle: listSettle, Parallel: parallel, Market: true, Events: true,
		Attestations: []string{provider.AttestGPU}, Unattestable: unattestable,
	}
}

// newHosts makes no connection: a host that is down must not keep the others from
// being seen.
func newHosts(_ context.Context, config Config, environment provider.Environment) (provider.Provider[Instance], error) {
	remembered, err := recall(environment.StateDir)
	if err != nil {
		return nil, err
	}
	p := &hosts{
		installation: environment.Installation, shutdown: config.Shutdown, memory: remembered,
		placement: newPlacement(), logger: environment.Logger, now: time.Now,
	}
	for n, h := range config.Hosts {
		target, err := daemon.ParseTarget(h.URI)
		if err != nil {
			return nil, provider.Diagnostic{Summary: "The host's URI can't be used", Detail: err.Error(),
				Path: provider.At("host").Index(n).Attr("uri")}
		}
		made := &host{name: h.Name, pool: h.Pool, vcpus: h.VCPUs}
		if h.Memory != "" {
			if made.memory, err = parseSize(h.Memory); err != nil {
				return nil, provider.Diagnostic{Summary: "Invalid size", Detail: err.Error(),
					Path: provider.At("host").Index(n).Attr("memory")}
			}
		}
		limits := daemon.Limits{Connect: min(connectLimit, config.CallTimeout), Call: config.CallTimeout, Settle: settleTime}
		made.Daemon, made.ending = daemon.New(h.Name, target, limits), daemon.New(h.Name, target, limits)
		p.all = append(p.all, made)
	}
	return p, nil
}
