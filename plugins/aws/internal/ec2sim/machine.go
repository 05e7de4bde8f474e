package ec2sim

import (
	"fmt"
	"time"
)

// Machine is an instance as the code that plays its hardware sees it, also one that
// no list shows yet.
type Machine struct {
	ID string `json:"id"`
	// State is as the API words it: pending, running, shutting-down or terminated.
	State string `json:"state"`
	Type  string `json:"type"`
	Zone  string `json:"zone"`
	Spot  bool   `json:"spot"`
	// UserData is what the first boot gets, decoded. It has the token of the host in
	// it, and isn't for showing.
	UserData string `json:"-"`
}

// Machines are the instances that the account still knows of, in the order of
// their start.
func (s *Simulator) Machines() []Machine {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.now()
	s.settle(now)
	all := []Machine{}
	for _, one := range s.world.instances {
		all = append(all, Machine{ID: one.ID, State: one.state(now, s.options.Delays).Name, Type: one.kind.Name,
			Zone: one.subnet.Zone.Name, Spot: one.spot != nil, UserData: one.settings.userData})
	}
	return all
}

// ShutDown is a machine that turns itself off. Only one that is terminated by that
// can be simulated: instances don't stop here.
func (s *Simulator) ShutDown(id string) error {
	var refused error
	err := s.withLive(id, func(now time.Time, one *instance) {
		if one.settings.shutdownBehavior != "terminate" {
			refused = fmt.Errorf(
				"the instance %s would be stopped by its shutdown, which isn't simulated; launch it with the behavior terminate",
				id)
			return
		}
		one.askEnd(now, "Client.InstanceInitiatedShutdown", "Client.InstanceInitiatedShutdown: Instance initiated shutdown")
	})
	if err == nil {
		err = refused
	}
	return err
}
