package orders

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// ResolveRequest says what became of an instance, where the manager can't find out
// by itself.
type ResolveRequest struct {
	Instance fleet.CapacityInstanceID
	Outcome  Resolution
	// Resource is what its request made, of Created.
	Resource fleet.ProviderInstanceRef
}

// Resolution is what became of an instance's request or resource.
type Resolution string

// The resolutions: its request made a resource, its request made nothing, its
// resource exists no more.
const (
	Created    Resolution = Resolution(loop.ResolveCreated)
	NotCreated Resolution = Resolution(loop.ResolveNotCreated)
	Gone       Resolution = Resolution(loop.ResolveGone)
)

// DrainRequest lets an instance leave after its job. Force gives up the job of one
// that drains already, or is quarantined.
type DrainRequest struct {
	Instance fleet.CapacityInstanceID
	Force    bool
}

// AdoptRequest takes a resource of no instance onto the books of a fleet, to be
// removed.
type AdoptRequest struct {
	Provider fleet.ProviderAddress
	Resource fleet.ProviderInstanceRef
	Fleet    fleet.FleetAddress
}

// InstanceReceipt says what was done about which instance; of a check, what the
// order is.
type InstanceReceipt struct {
	Instance fleet.CapacityInstanceID `json:"instance"`
	Done     string                   `json:"done"`
	// Reason is what Done says, as data.
	Reason reason.Reason `json:"reason,omitzero"`
}

// ResolveInstance records what became of an instance. What the provider lists, and
// an agent that calls, count for more: then it is a *access.ConflictError.
func (h Handler) ResolveInstance(ctx context.Context, r ResolveRequest) (InstanceReceipt, error) {
	words, known := map[Resolution]string{
		Created: "instance resolve --created", NotCreated: "instance resolve --not-created", Gone: "instance resolve --gone",
	}[r.Outcome]
	if !known {
		return InstanceReceipt{}, access.Invalid("invalid outcome %q: use %s, %s or %s", r.Outcome, Created, NotCreated, Gone)
	}
	if r.Resource != "" {
		words += " " + string(r.Resource)
	}
	return h.orderInstance(
		ctx,
		"instance resolve",
		words,
		loop.Order{Kind: loop.OrderKind(r.Outcome), Instance: r.Instance, Resource: r.Resource},
	)
}

// ReplaceInstance lets an instance leave after its job; its fleet makes another.
func (h Handler) ReplaceInstance(ctx context.Context, id fleet.CapacityInstanceID) (InstanceReceipt, error) {
	return h.orderInstance(
		ctx,
		"instance replace",
		"instance replace",
		loop.Order{Kind: loop.ReplaceInstance, Instance: id},
	)
}

// DrainInstance lets an instance leave after its job, or gives that job up.
func (h Handler) DrainInstance(ctx context.Context, r DrainRequest) (InstanceReceipt, error) {
	if r.Force {
		return h.orderInstance(
			ctx,
			"instance drain",
			"drain --force",
			loop.Order{Kind: loop.ForceDrain, Instance: r.Instance},
		)
	}
	return h.orderInstance(ctx, "instance drain", "drain", loop.Order{Kind: loop.DrainInstance, Instance: r.Instance})
}

// AdoptResource has the loop take a resource onto a fleet's books and remove it. An
// inspection begun now must list it, once.
func (h Handler) AdoptResource(ctx context.Context, r AdoptRequest) (InstanceReceipt, error) {
	const useCase = "instance adopt"
	caller, err := access.Authorize(ctx, useCase)
	if err != nil {
		return InstanceReceipt{}, err
	}
	subject, err := h.adoptSubject(ctx, caller, useCase, r)
	if err != nil {
		return InstanceReceipt{}, err
	}
	return h.carryOut(
		ctx,
		useCase,
		subject,
		loop.Order{Kind: loop.AdoptResource, Provider: r.Provider, Resource: r.Resource, Fleet: r.Fleet},
	)
}

// orderInstance finds the instance that an order is about, and has the loop carry
// the order out. words are the order as it is typed.
func (h Handler) orderInstance(ctx context.Context, useCase, words string, o loop.Order) (InstanceReceipt, error) {
	caller, err := access.Authorize(ctx, useCase)
	if err != nil {
		return InstanceReceipt{}, err
	}
	i, _, err := h.queries.FindForOrder(ctx, caller, o.Instance)
	if err != nil {
		return InstanceReceipt{}, err
	}
	if i.State == fleet.Terminated {
		return InstanceReceipt{}, access.Conflict("%s of the instance %s is refused: the instance has ended", words, i.ID)
	}
	o.Instance = i.ID
	return h.carryOut(ctx, useCase, fmt.Sprintf("%s of the instance %s", words, i.ID), o)
}

// carryOut has the loop carry an order out. What it refuses is a conflict. The
// attempt is audited, whatever comes of it.
func (h Handler) carryOut(ctx context.Context, useCase, subject string, o loop.Order) (InstanceReceipt, error) {
	if h.check {
		return InstanceReceipt{Instance: o.Instance, Done: subject}, nil
	}
	l := h.loop()
	if l == nil {
		return InstanceReceipt{}, errors.New("the manager isn't running; start it with: forgeyard-fleet serve")
	}
	record, err := access.NewAuditRecord(ctx, h.clock(), useCase, subject)
	if err == nil {
		err = h.store.AppendAudit(ctx, record)
	}
	if err != nil {
		return InstanceReceipt{}, err
	}
	o.By = access.CallerOf(ctx).Name
	outcome, err := l.give(ctx, h.clock(), o, subject)
	if err != nil {
		return InstanceReceipt{}, err
	}
	if !outcome.Refused.IsZero() {
		return InstanceReceipt{}, access.Refused(subject, outcome.Refused)
	}
	return InstanceReceipt{Instance: outcome.Instance, Done: outcome.Done.Text(), Reason: outcome.Done}, nil
}

// adoptSubject says in words what is adopted.
func (h Handler) adoptSubject(
	ctx context.Context,
	caller access.Caller,
	useCase string,
	r AdoptRequest,
) (string, error) {
	if len(caller.Fleets) > 0 { // an orphan is of no fleet that they may touch
		return "", &access.DeniedError{Caller: caller.Name, UseCase: useCase, Fleet: r.Fleet}
	}
	fleets, err := h.store.Fleets(ctx)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(fleets, func(f fleet.ManagedFleet) bool { return f.Address == r.Fleet }) {
		return "", &access.NotFoundError{Kind: "fleet", ID: string(r.Fleet)}
	}
	applied, _, err := h.store.Definition(ctx)
	if err != nil {
		return "", err
	}
	var declared []string
	for _, p := range applied.Definition.Providers {
		declared = append(declared, string(p.Address))
	}
	if !slices.Contains(declared, string(r.Provider)) {
		return "", access.Invalid("unknown provider %q; name an applied provider that lists the resource (%s)",
			r.Provider, orNone(declared))
	}
	return fmt.Sprintf("%s of %s of %s into %s", useCase, r.Resource, r.Provider, r.Fleet), nil
}
