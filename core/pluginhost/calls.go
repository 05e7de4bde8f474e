//go:build unix

package pluginhost

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Info asks the plugin to describe itself. It needs no Configure.
func (p *Process) Info(ctx context.Context) (Info, error) {
	response, err := p.rpc.GetInfo(ctx, &providerpb.GetInfoRequest{})
	if err != nil {
		return Info{}, p.failed("describe itself", err)
	}
	info, err := infoOf(response)
	if err != nil {
		return Info{}, fmt.Errorf(
			"%s describes itself wrongly: %w; update forgeyard-fleet, or report it to the plugin's author",
			p.launch.title(),
			err,
		)
	}
	return info, nil
}

// Validation is a plugin's complaints about decoded blocks.
type Validation struct {
	Provider []fleet.PluginDiagnostic
	// Instances has the complaints about the instance bodies, by the names that
	// they were handed in under.
	Instances map[string][]fleet.PluginDiagnostic
}

// Validate checks block bodies offline. It needs no Configure; the provider's body
// may be empty.
func (p *Process) Validate(
	ctx context.Context,
	provider secret.Resolved,
	instances map[string][]byte,
) (Validation, error) {
	request := &providerpb.ValidateRequest{ProviderJson: provider.Body, InstanceJson: instances}
	if refusal := p.refusal(ctx, request); refusal != nil {
		return Validation{}, p.notSent("check the configuration", refusal)
	}
	p.learn(provider)
	response, err := p.rpc.Validate(ctx, request)
	if err != nil {
		return Validation{}, p.failed("check the configuration", err)
	}
	validation := Validation{
		Provider:  diagnosticsOf(response.GetProvider()),
		Instances: map[string][]fleet.PluginDiagnostic{},
	}
	unexpected := unexpectedItems{
		logger: p.launch.Logger,
		what:   "the plugin complains about an instance block that it was not asked about",
	}
	defer unexpected.report()
	for name, list := range response.GetInstances() {
		if _, asked := instances[name]; !asked {
			unexpected.note("name", name)
			continue
		}
		if found := diagnosticsOf(list.GetItems()); len(found) > 0 {
			validation.Instances[name] = found
		}
	}
	return validation, nil
}

// learn makes known the secrets of a body that the plugin is about to get.
func (p *Process) learn(provider secret.Resolved) {
	if tooShort := p.redactor.Learn(provider.Secrets); tooShort > 0 {
		p.launch.Logger.Warn(
			"secrets of the provider block are too short to be hidden where the plugin repeats them; use longer ones",
			"secrets",
			tooShort,
			"shorter_than_bytes",
			secret.ShortestRedacted,
		)
	}
}

// Configuration binds a process to its provider block.
type Configuration struct {
	// Provider is the block's body. Its secrets are hidden in all that the plugin
	// says from then on.
	Provider secret.Resolved
	// Installation is the tag value that marks what is ours.
	Installation string
	// StateDir is a cache for the plugin; it may be emptied at any time.
	StateDir string
}

// Configure binds the process to its provider block, once per process. The
// account is what the credentials reach. Where a diagnostic is more than a
// warning, the process isn't configured.
func (p *Process) Configure(
	ctx context.Context,
	c Configuration,
) (account string, found []fleet.PluginDiagnostic, err error) {
	p.learn(c.Provider)
	response, err := p.rpc.Configure(ctx, &providerpb.ConfigureRequest{
		ProviderJson: c.Provider.Body,
		Installation: c.Installation,
		StateDir:     c.StateDir,
	})
	if err != nil {
		return "", nil, p.failed("take its configuration", err)
	}
	return pluginlog.Printable(response.GetAccount()), diagnosticsOf(response.GetDiagnostics()), nil
}

// Drain asks the plugin to begin no new infrastructure call and to finish those
// under way until the deadline. It returns how many there are.
func (p *Process) Drain(ctx context.Context, deadline time.Duration) (inFlight int, err error) {
	response, err := p.rpc.Drain(ctx, &providerpb.DrainRequest{Deadline: durationpb.New(deadline)})
	if err != nil {
		return 0, p.failed("finish its calls", err)
	}
	return int(response.GetInFlight()), nil
}
