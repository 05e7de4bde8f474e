package control

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// InstanceOrder is a person's decision about one instance, or about one resource
// that is nobody's.
type InstanceOrder struct {
	Kind loop.OrderKind
	// Instance is for all kinds but adopt.
	Instance fleet.CapacityInstanceID
	// Resource is for created and adopt; Provider and Fleet are for adopt.
	Resource fleet.ProviderInstanceRef
	Provider fleet.ProviderAddress
	Fleet    fleet.FleetAddress
}

// OrderReceipt says what was done about which instance.
type OrderReceipt struct {
	Instance fleet.CapacityInstanceID `json:"instance"`
	Done     string                   `json:"done"`
}

// orderUseCases name what each kind of order needs permission for.
var orderUseCases = map[loop.OrderKind]string{
	loop.ResolveCreated: "instance resolve", loop.ResolveNotCreated: "instance resolve", loop.ResolveGone: "instance resolve",
	loop.ReplaceInstance: "instance replace", loop.AdoptResource: "instance adopt",
	loop.DrainInstance: "instance drain", loop.ForceDrain: "instance drain",
}

// orderPatience is how long an order may wait for a look at its provider.
const orderPatience = time.Minute

// Order has the loop carry out what a person decided. What it refuses is a
// *ConflictError. The attempt is audited, whatever comes of it.
func (m *Manager) Order(ctx context.Context, o InstanceOrder) (OrderReceipt, error) {
	subject, err := m.ordered(ctx, &o)
	if err != nil {
		return OrderReceipt{}, err
	}
	m.mu.Lock()
	r := m.running
	m.mu.Unlock()
	if r == nil {
		return OrderReceipt{}, errors.New("the manager doesn't run, so nobody can carry that out; start it")
	}
	record, err := access.NewAuditRecord(ctx, m.options.Clock(), orderUseCases[o.Kind], subject)
	if err == nil {
		err = m.store.AppendAudit(ctx, record)
	}
	if err != nil {
		return OrderReceipt{}, err
	}
	outcome, err := m.give(ctx, r, loop.Order{
		Kind: o.Kind, Instance: o.Instance, Resource: o.Resource, Provider: o.Provider, Fleet: o.Fleet, By: access.CallerOf(ctx).Name,
	}, subject)
	if err != nil {
		return OrderReceipt{}, err
	}
	if outcome.Refused != "" {
		return OrderReceipt{}, access.Conflict("%s is refused: %s", subject, outcome.Refused)
	}
	return OrderReceipt{Instance: outcome.Instance, Done: outcome.Done}, nil
}

// CheckOrder says why Order would be refused, as far as that is known without a look at
// the provider, and does nothing.
func (r *reading) CheckOrder(ctx context.Context, o InstanceOrder) (OrderReceipt, error) {
	subject, err := r.ordered(ctx, &o)
	return OrderReceipt{Instance: o.Instance, Done: subject}, err
}

// ordered says in words what an order is about, if the caller may give it.
func (r *reading) ordered(ctx context.Context, o *InstanceOrder) (string, error) {
	useCase, known := orderUseCases[o.Kind]
	if !known {
		return "", access.Invalid("there is no order %q", o.Kind)
	}
	caller, err := access.Authorize(ctx, useCase)
	if err != nil {
		return "", err
	}
	return r.orderSubject(ctx, caller, useCase, o)
}

// give hands an order to a running loop and waits for what comes of it.
func (m *Manager) give(ctx context.Context, r *running, o loop.Order, subject string) (loop.OrderOutcome, error) {
	now := m.options.Clock()
	id, err := fleet.NewULID(now, rand.Reader)
	if err != nil {
		return loop.OrderOutcome{}, err
	}
	o.ID, o.Until = id, now.Add(orderPatience)
	answer := m.desk.expect(id)
	defer m.desk.drop(id)
	r.exec.Send(ctx, loop.Ordered{Order: o})
	select {
	case outcome := <-answer:
		return outcome, nil
	case <-r.ended:
		return loop.OrderOutcome{}, errors.New("the manager is stopping; whether that was carried out shows in forgeyard-fleet status and instance list")
	case <-ctx.Done():
		return loop.OrderOutcome{}, fmt.Errorf("wait for %s: %w; whether it was carried out shows in forgeyard-fleet status and instance list", subject, ctx.Err())
	}
}

// orderWords are the kinds of order as they are given.
var orderWords = map[loop.OrderKind]string{
	loop.ResolveCreated: "instance resolve --created", loop.ResolveNotCreated: "instance resolve --not-created", loop.ResolveGone: "instance resolve --gone",
	loop.ReplaceInstance: "instance replace", loop.DrainInstance: "drain", loop.ForceDrain: "drain --force",
}

// orderSubject finds what an order is about, and says the order in words. An instance
// of which it has the beginning or the end of the id is in it whole then. What is in
// fleets that aren't the caller's isn't there.
func (r *reading) orderSubject(ctx context.Context, caller access.Caller, useCase string, o *InstanceOrder) (string, error) {
	if o.Kind == loop.AdoptResource {
		return r.adoptSubject(ctx, caller, useCase, *o)
	}
	i, _, err := r.findOrdered(ctx, caller, o.Instance)
	if err != nil {
		return "", err
	}
	o.Instance = i.ID
	text := orderWords[o.Kind]
	if i.State == fleet.Terminated {
		return "", access.Conflict("%s of the instance %s is refused: it has ended, and there is nothing left to decide about it", text, i.ID)
	}
	if o.Resource != "" {
		text += " " + string(o.Resource)
	}
	return fmt.Sprintf("%s of the instance %s", text, i.ID), nil
}

func (r *reading) adoptSubject(ctx context.Context, caller access.Caller, useCase string, o InstanceOrder) (string, error) {
	if len(caller.Fleets) > 0 { // what is nobody's is of no fleet that they may touch
		return "", &access.DeniedError{Caller: caller.Name, UseCase: useCase, Fleet: o.Fleet}
	}
	fleets, err := r.store.Fleets(ctx)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(fleets, func(f fleet.ManagedFleet) bool { return f.Address == o.Fleet }) {
		return "", &access.NotFoundError{Kind: "fleet", ID: string(o.Fleet)}
	}
	applied, _, err := r.store.Definition(ctx)
	if err != nil {
		return "", err
	}
	var declared []string
	for _, p := range applied.Definition.Providers {
		declared = append(declared, string(p.Address))
	}
	if !slices.Contains(declared, string(o.Provider)) {
		return "", access.Invalid("there is no provider %q in what was applied, so nobody looks there; name the one that lists the resource (%s)",
			o.Provider, namesOr("there is none", declared))
	}
	return fmt.Sprintf("%s of %s of %s into %s", useCase, o.Resource, o.Provider, o.Fleet), nil
}

// orderDesk hands outcomes to those who wait for them.
type orderDesk struct {
	mu      sync.Mutex
	waiting map[string]chan loop.OrderOutcome
}

func (d *orderDesk) expect(id string) <-chan loop.OrderOutcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		d.waiting = map[string]chan loop.OrderOutcome{}
	}
	d.waiting[id] = make(chan loop.OrderOutcome, 1)
	return d.waiting[id]
}

func (d *orderDesk) drop(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.waiting, id)
}

// answer never blocks: each order has one outcome, and room for it.
func (d *orderDesk) answer(outcomes []loop.OrderOutcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range outcomes {
		if c := d.waiting[o.ID]; c != nil {
			c <- o
			delete(d.waiting, o.ID)
		}
	}
}

// Unrecorded lists what providers have of the installation that no live instance
// accounts for, as the running manager last saw it; without one nothing is known.
// Callers who are limited to fleets see the orphans of those.
func (r *reading) Unrecorded(ctx context.Context) ([]fleet.UnrecordedResource, error) {
	caller, err := access.Authorize(ctx, "unrecorded")
	if err != nil {
		return nil, err
	}
	return r.unrecordedFor(caller), nil
}

func (r *reading) unrecordedFor(caller access.Caller) []fleet.UnrecordedResource {
	all := []fleet.UnrecordedResource{}
	for _, u := range r.observed().Unrecorded {
		all = append(all, caller.Unrecorded(u).Resources...)
	}
	slices.SortStableFunc(all, func(a, b fleet.UnrecordedResource) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), -cmp.Compare(a.Classification, b.Classification), cmp.Compare(a.ID, b.ID))
	})
	return all
}
