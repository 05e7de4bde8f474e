package machinefake

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
)

// Behavior says what the provider and its machines do.
type Behavior struct {
	// Inspecting and Provisioning run before a call is answered; their error ends it
	// without an answer. nil: nothing is done.
	Inspecting, Provisioning func(context.Context) error
	// NewMachine is called once for each machine, before Provision has answered, and
	// returns what it does until its context ends. It must not call the provider.
	NewMachine func(pluginhost.ProvisionItem) (run func(context.Context))
	// Terminating is called for each machine before it is ended. nil: Terminate fails,
	// for tests that should end no machine. It must not call the provider.
	Terminating func(fleet.OperationID)
}

// Provider is the provider. Its methods may be called side by side.
type Provider struct {
	behavior Behavior
	life     context.Context

	mutex    sync.Mutex
	machines map[fleet.OperationID]machine
	running  sync.WaitGroup
}

type machine struct {
	resource fleet.Resource
	end      context.CancelFunc
}

// New makes a provider without machines; all that it gets end with life.
func New(life context.Context, b Behavior) *Provider {
	return &Provider{behavior: b, life: life, machines: map[fleet.OperationID]machine{}}
}

// Wait returns when no machine runs.
func (p *Provider) Wait() { p.running.Wait() }

// Inspect lists all machines, whatever keys are asked for.
func (p *Provider) Inspect(ctx context.Context, _ []fleet.OperationID) (fleet.Inspection, error) {
	if p.behavior.Inspecting != nil {
		if err := p.behavior.Inspecting(ctx); err != nil {
			return fleet.Inspection{}, err
		}
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	out := fleet.Inspection{Complete: true, Resources: make([]fleet.Resource, 0, len(p.machines))}
	for _, m := range p.machines {
		out.Resources = append(out.Resources, m.resource)
	}
	return out, nil
}

// Provision makes a machine for each key that has none.
func (p *Provider) Provision(
	ctx context.Context,
	request pluginhost.ProvisionRequest,
	answer func(pluginhost.ProvisionAnswer),
) error {
	if p.behavior.Provisioning != nil {
		if err := p.behavior.Provisioning(ctx); err != nil {
			return err
		}
	}
	for _, item := range request.Items {
		resource := p.provide(item)
		answer(pluginhost.ProvisionAnswer{
			Key: item.Key, Outcome: fleet.ProvisionCreated, Resource: &resource, CallOver: true,
		})
	}
	return nil
}

func (p *Provider) provide(item pluginhost.ProvisionItem) fleet.Resource {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if m, there := p.machines[item.Key]; there {
		return m.resource
	}
	ctx, end := context.WithCancel(p.life)
	m := machine{end: end, resource: fleet.Resource{
		ID:    fleet.ProviderInstanceRef("vm-" + item.Key),
		Key:   item.Key,
		Tags:  item.Tags,
		State: fleet.ResourceRunning,
	}}
	p.machines[item.Key] = m
	run := p.behavior.NewMachine(item)
	p.running.Go(func() { run(ctx) })
	return m.resource
}

// Terminate ends machines. One that isn't there is gone.
func (p *Provider) Terminate(
	_ context.Context,
	refs []pluginhost.TerminateRef,
	_ bool,
	answer func(pluginhost.TerminateAnswer),
) error {
	if p.behavior.Terminating == nil {
		return errors.New("nothing was to be terminated")
	}
	for _, ref := range refs {
		p.end(ref.Key)
		answer(pluginhost.TerminateAnswer{Ref: ref, Outcome: fleet.TerminateGone})
	}
	return nil
}

func (p *Provider) end(key fleet.OperationID) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	m, there := p.machines[key]
	if !there {
		return
	}
	p.behavior.Terminating(key)
	m.end()
	delete(p.machines, key)
}

// Offers says that there is no market.
func (p *Provider) Offers(context.Context, json.RawMessage) (fleet.OfferList, error) {
	return fleet.OfferList{}, errors.ErrUnsupported
}
