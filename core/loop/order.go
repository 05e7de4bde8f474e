package loop

import (
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// OrderKind is what a person decides.
type OrderKind string

// The kinds of order.
const (
	// ResolveCreated: the open provision made Order.Resource.
	ResolveCreated OrderKind = "created"
	// ResolveNotCreated: the open provision made nothing.
	ResolveNotCreated OrderKind = "not_created"
	// ResolveGone: the instance's resource exists no more.
	ResolveGone OrderKind = "gone"
	// ReplaceInstance drains an instance; the fleet makes another.
	ReplaceInstance OrderKind = "replace"
	// DrainInstance is the same order, by who only may drain.
	DrainInstance OrderKind = "drain"
	// ForceDrain gives up the job of an instance that drains (spec §35).
	ForceDrain OrderKind = "drain_force"
	// AdoptResource takes Order.Resource of Order.Provider onto the books of
	// Order.Fleet and removes it.
	AdoptResource OrderKind = "adopt"
	// TakeNote asks for nothing: its outcome says that a step has seen what was
	// stored before, so that none continues without it.
	TakeNote OrderKind = "take_note"
)

// Order is a person's decision. It is carried out once or refused with a reason;
// one that needs an inspection first waits for that until Until.
type Order struct {
	ID       string
	Kind     OrderKind
	Instance fleet.CapacityInstanceID
	Resource fleet.ProviderInstanceRef
	Provider fleet.ProviderAddress
	Fleet    fleet.FleetAddress
	By       string
	Until    time.Time
}

// OrderOutcome is what became of an order: Done or Refused is set.
type OrderOutcome struct {
	ID       string
	Instance fleet.CapacityInstanceID
	// Done says what was done, Refused why nothing was.
	Done    reason.Reason
	Refused reason.Reason
}

// pendingOrder is an order with the step that took it in: only an inspection that
// began later shows what the person may have changed before.
type pendingOrder struct {
	Order
	step     int
	provider fleet.ProviderAddress // that must be inspected; "": none, or not known yet
}

// addOrder takes an order in. The same one may come again if a commit failed.
func (m *memory) addOrder(o Order) {
	if !slices.ContainsFunc(m.orders, func(p pendingOrder) bool { return p.ID == o.ID }) {
		m.orders = append(m.orders, pendingOrder{Order: o, step: m.steps, provider: o.Provider})
	}
}

// applyOrders carries out the orders that can be.
func (l *Loop) applyOrders(w *step) error {
	for n := range l.orders {
		o := &l.orders[n]
		outcome, err := l.applyOrder(w, o)
		if err != nil {
			return err
		}
		if outcome == (OrderOutcome{}) && w.now.After(o.Until) {
			outcome = l.expireOrder(w, o)
		}
		if outcome != (OrderOutcome{}) {
			outcome.ID = o.ID
			if outcome.Instance == "" {
				outcome.Instance = o.Instance
			}
			w.outcomes = append(w.outcomes, outcome)
		}
	}
	return nil
}

// expireOrder ends an order whose provider could not be inspected in time. That
// something is gone is then a person's to say.
func (l *Loop) expireOrder(w *step, o *pendingOrder) OrderOutcome {
	if r := w.byID[o.Instance]; o.Kind == ResolveGone && r != nil {
		return l.resolveGone(w, r, nil)
	}
	return refuse(reason.NotInspectedInTime{Because: l.provider(o.provider).Unobservable})
}

// forgetAppliedOrders forgets the orders that came to their end, after the commit.
func (l *Loop) forgetAppliedOrders(w *step) {
	l.orders = slices.DeleteFunc(l.orders, func(p pendingOrder) bool {
		return slices.ContainsFunc(w.outcomes, func(o OrderOutcome) bool { return o.ID == p.ID })
	})
}

// orderAwaitsInspection says whether an order waits for an inspection of the provider that has not
// begun.
func (l *Loop) orderAwaitsInspection(address fleet.ProviderAddress, p *inventory.Provider) bool {
	return slices.ContainsFunc(
		l.orders,
		func(o pendingOrder) bool { return o.provider == address && p.InspectionStep < o.step },
	)
}

func refuse(why reason.Detail) OrderOutcome { return OrderOutcome{Refused: reason.Of(why)} }

func done(what reason.Detail) OrderOutcome { return OrderOutcome{Done: reason.Of(what)} }

// applyOrder does what an order says; the zero outcome says that it waits.
func (l *Loop) applyOrder(w *step, o *pendingOrder) (OrderOutcome, error) {
	switch o.Kind {
	case AdoptResource:
		return l.adopt(w, o)
	case TakeNote:
		return done(reason.ChangeInUse{}), nil
	}
	n := slices.IndexFunc(w.rows, func(r *row) bool { return r.ID == o.Instance })
	if n < 0 {
		return refuse(reason.InstanceUnknown{Instance: string(o.Instance)}), nil
	}
	r := w.rows[n]
	switch o.Kind {
	case ReplaceInstance, DrainInstance:
		return w.drainByOrder(r, o.By), nil
	case ForceDrain:
		return w.forceDrain(r, o.By), nil
	case ResolveCreated, ResolveNotCreated, ResolveGone:
		o.provider = r.Provider
		return l.resolve(w, r, o), nil
	}
	return refuse(reason.OrderUnknown{Order: string(o.Kind)}), nil
}

// drainByOrder lets an instance leave after its job. One that was never given
// work is withdrawn.
func (w *step) drainByOrder(r *row, by string) OrderOutcome {
	why := reason.RequestedBy{By: by}
	switch r.State {
	case fleet.Healthy:
		w.move(r, fleet.Draining, lifecycle.ForOperator, why)
		return done(reason.DrainStarted{Frozen: w.frozen(r)})
	case fleet.Bootstrapping, fleet.Enrolling:
		w.move(r, fleet.Terminating, lifecycle.Withdrawn, why)
		return done(reason.UnusedRemoved{})
	case fleet.Draining:
		if lifecycle.Cause(r.Cause) == lifecycle.ForScaleDown { // demand would have it back
			w.move(r, fleet.Draining, lifecycle.ForOperator, why)
			return done(reason.DrainStarted{Before: true, Kept: true})
		}
		return done(reason.DrainStarted{Before: true})
	case fleet.Terminating, fleet.Failed:
		return done(reason.InState{State: string(r.State)})
	case fleet.Quarantined:
		return refuse(reason.QuarantinedAlready{Instance: string(r.ID)})
	}
	return refuse(reason.RequestUnanswered{State: string(r.State)})
}

// forceDrain gives up the job of an instance that gets no new one (spec §35).
func (w *step) forceDrain(r *row, by string) OrderOutcome {
	switch r.State {
	case fleet.Draining, fleet.Quarantined:
		w.move(r, fleet.Terminating, lifecycle.Forced, reason.JobGivenUp{By: by})
		return done(reason.RemovedWithJob{})
	case fleet.Terminating:
		return done(reason.InState{State: string(r.State)})
	case fleet.Healthy:
		return refuse(reason.TakesJobs{Instance: string(r.ID)})
	}
	return refuse(reason.ForceUnneeded{Instance: string(r.ID), State: string(r.State)})
}

// resolve takes a person's word for what became of an operation or a resource,
// as far as an inspection doesn't say otherwise.
func (l *Loop) resolve(w *step, r *row, o *pendingOrder) OrderOutcome {
	p := l.provider(r.Provider)
	_, calling := l.calls[r.Key]
	switch {
	case r.State == fleet.Requested:
		return refuse(reason.NothingRequested{})
	case calling || r.terminate != nil && l.calls[r.terminate.ID] != "":
		return refuse(reason.CallUnderWay{})
	}
	inspected := p.Facts != nil && p.Unobservable.IsZero() && p.Listing != nil && p.Listing.Step >= o.step
	if !inspected {
		// A plugin that hasn't started yet will be inspected soon. Only where nothing will,
		// or an inspection begun since has failed, a person's word is all there is.
		gaveUp := p.Facts == nil && p.Blocked ||
			p.Facts != nil && !p.Inspecting && p.InspectionStep >= o.step && !p.Unobservable.IsZero()
		if o.Kind == ResolveGone && gaveUp {
			return l.resolveGone(w, r, nil)
		}
		return OrderOutcome{}
	}
	if p.Listing.InFlight(r.Key) {
		return refuse(reason.CallUnderWay{Plugin: true})
	}
	switch o.Kind {
	case ResolveCreated:
		return l.resolveCreated(w, r, p, o)
	case ResolveNotCreated:
		return l.resolveNotCreated(w, r, p.Listing.Of(&r.CapacityInstance))
	}
	return l.resolveGone(w, r, p.Listing.Of(&r.CapacityInstance))
}

func (l *Loop) resolveCreated(w *step, r *row, p *inventory.Provider, o *pendingOrder) OrderOutcome {
	id := o.Resource
	if id == "" {
		return refuse(reason.ResourceIDMissing{})
	}
	if other, taken := w.recordedElsewhere(r, id); taken {
		return refuse(reason.ResourceOfInstance{Resource: string(id), Instance: string(other)})
	}
	listed := slices.DeleteFunc(
		slices.Clone(p.Listing.WithID(id)),
		func(res fleet.Resource) bool { return !inventory.IsInstance(res) },
	)
	if len(listed) != 1 {
		return refuse(reason.ResourcesListed{Provider: string(r.Provider), Resource: string(id), Resources: len(listed)})
	}
	if listed[0].Key != "" && listed[0].Key != r.Key {
		return refuse(reason.ResourceOfOtherKey{Resource: string(id), Has: string(listed[0].Key), Key: string(r.Key)})
	}
	if r.provision.State != fleet.OperationSucceeded {
		op := r.edit(r.provision)
		op.State, op.CallOver, op.Reason = fleet.OperationSucceeded, p.Listing.Began, reason.Of(
			reason.FoundByPerson{Resource: string(id)},
		)
	}
	w.record(r, id)
	r.dirty = true
	if listed[0].Key == "" {
		r.Adopted = o.By // nothing but the person's word says that it is the row's
	}
	r.conflict(reason.Reason{})
	if r.State == fleet.Provisioning {
		w.move(r, fleet.Bootstrapping, lifecycle.ResourceSeen, reason.FoundByPerson{Resource: string(id)})
	}
	return done(reason.ResourceRecorded{Resource: string(id)})
}

func (l *Loop) resolveNotCreated(w *step, r *row, listed []fleet.Resource) OrderOutcome {
	switch {
	case len(listed) > 0:
		return refuse(reason.StillListed{Resource: string(listed[0].ID)})
	case r.everSeen():
		return refuse(reason.SeenBefore{Instance: string(r.ID)})
	case r.State == fleet.Provisioning:
		r.settleNotCreated()
		w.move(r, fleet.Failed, lifecycle.NothingCreated, reason.NotCreatedByWord{})
	default:
		r.settleNotCreated()
		w.gone(r, reason.NotCreatedByWord{})
	}
	return done(reason.ClosedByWord{NotCreated: true})
}

func (r *row) settleNotCreated() {
	op := r.edit(r.provision)
	op.State, op.Reason = fleet.OperationNotCreated, reason.Of(reason.NotCreatedByWord{})
	r.conflict(reason.Reason{})
}

// resolveGone ends an instance on a person's word. An agent that beats says
// otherwise, and so does a list that shows it.
func (l *Loop) resolveGone(w *step, r *row, listed []fleet.Resource) OrderOutcome {
	switch {
	case len(listed) > 0:
		return refuse(reason.StillListed{Resource: string(listed[0].ID)})
	case r.runner != nil && w.now.Sub(r.runner.LastBeat) <= r.fleet.Timeouts.Heartbeat:
		return refuse(reason.AgentCalled{Ago: seconds(w.now.Sub(r.runner.LastBeat))})
	}
	if r.provision.State.Open() {
		op := r.edit(r.provision)
		op.State, op.Reason = fleet.OperationNotCreated, reason.Of(reason.GoneByWord{})
	}
	r.conflict(reason.Reason{})
	w.gone(r, reason.GoneByWord{})
	return done(reason.ClosedByWord{})
}
