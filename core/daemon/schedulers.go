package daemon

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentserver"
	"github.com/forgeyard/forgeyard-fleet/core/executor"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/reviewos"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
)

// schedulers keeps a client for each scheduler block of the current definition,
// and what the schedulers gave for admitted runners. The latter lives in memory
// alone: a new process asks for it again.
type schedulers struct {
	secrets secret.Resolver
	clock   func() time.Time

	mu          sync.Mutex
	blocks      map[fleet.SchedulerAddress]fleet.Scheduler
	clients     map[fleet.SchedulerAddress]client
	connections map[fleet.CapacityInstanceID]agentserver.Connection
}

// client is a scheduler over the network.
type client interface {
	scheduler.Scheduler
	Close()
}

func newSchedulers(secrets secret.Resolver, clock func() time.Time) *schedulers {
	return &schedulers{
		secrets: secrets, clock: clock, blocks: map[fleet.SchedulerAddress]fleet.Scheduler{},
		clients: map[fleet.SchedulerAddress]client{}, connections: map[fleet.CapacityInstanceID]agentserver.Connection{},
	}
}

// update makes the clients those of the definition.
func (s *schedulers) update(d fleet.Definition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	declared := map[fleet.SchedulerAddress]fleet.Scheduler{}
	for _, block := range d.Schedulers {
		declared[block.Address] = block
	}
	for address, client := range s.clients {
		if block, kept := declared[address]; !kept || !reflect.DeepEqual(block, s.blocks[address]) {
			client.Close()
			delete(s.clients, address)
		}
	}
	s.blocks = declared
}

// client is what the executor calls.
func (s *schedulers) client(address fleet.SchedulerAddress) (scheduler.Scheduler, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	block, declared := s.blocks[address]
	if !declared {
		return nil, fmt.Errorf("scheduler.%s: %w", address, executor.ErrNoScheduler)
	}
	one := s.clients[address]
	if one == nil {
		one = s.connect(block)
		s.clients[address] = one
	}
	return one, nil
}

// connect makes the client of a block. Tokens are looked up at every call.
func (s *schedulers) connect(block fleet.Scheduler) client {
	token := func(ref fleet.SecretReference) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) { return s.secrets.Value(ctx, ref) }
	}
	if block.Address.Type() != fleet.SchedulerReviewOS {
		return forgeyard.New(block.URL, token(block.Token), s.clock)
	}
	metrics := block.MetricsToken
	if metrics == "" {
		metrics = block.Token
	}
	return reviewos.New(
		reviewos.Config{
			URL:     block.URL,
			Fleet:   token(block.Token),
			Metrics: token(metrics),
			Queues:  block.Queues,
			Clock:   s.clock,
		},
	)
}

// connected keeps what a scheduler gave for a runner.
func (s *schedulers) connected(id fleet.CapacityInstanceID, a scheduler.Admitted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connections[id] = agentserver.Connection{
		Command:            a.Command,
		Environment:        a.Environment,
		StoppedByScheduler: a.StoppedByScheduler,
	}
}

// connection is what the agents' endpoint hands to the runner's own agent.
func (s *schedulers) connection(id fleet.CapacityInstanceID) (agentserver.Connection, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, taken := s.connections[id]
	return c, taken
}

// forget drops what was given for runners that aren't there any more.
func (s *schedulers) forget(live []fleet.CapacityInstance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.connections) == 0 {
		return
	}
	keep := make(map[fleet.CapacityInstanceID]bool, len(live))
	for _, i := range live {
		keep[i.ID] = i.Live()
	}
	for id := range s.connections {
		if !keep[id] {
			delete(s.connections, id)
		}
	}
}

// close lets go of all connections.
func (s *schedulers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, client := range s.clients {
		client.Close()
	}
}
