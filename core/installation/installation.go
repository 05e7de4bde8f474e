package installation

import (
	"context"
	"iter"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/keys"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// Service is all that people do with an installation. A command renders what it
// says.
//
// Every method needs the permission that access.Permissions names for it. The caller
// is in the context; a *access.DeniedError refuses it.
type Service interface {
	Reader
	Applier
	Reservations
	Tokens
	Keys

	// Watch yields the progress of the loop from now on, first where it stands.
	// It ends with ctx, or with the error that cut it off.
	Watch(ctx context.Context) iter.Seq2[progress.Progress, error]
	// Orders carries out what people decide about what there is.
	Orders() Orders
	// Join claims a host of an inventory for a fleet and makes the command that
	// joins it; again, a new one in place of the one before.
	Join(ctx context.Context, r orders.JoinRequest) (orders.JoinTicket, error)
	// Audit lists what was done by whom, the newest first.
	Audit(ctx context.Context, limit int) ([]access.AuditRecord, error)
}

// Reader is the part of a Service that changes nothing. It works on a state
// directory without a manager, too.
type Reader interface {
	Planner
	Queries
	// Tokens lists the API tokens without their secrets.
	Tokens(ctx context.Context) ([]access.Token, error)
	// CheckOrders says what the same orders of a Service would do, or fails as they
	// would, and changes nothing: so that no question is asked about what is refused
	// afterwards. It needs the permission of the order.
	CheckOrders() Orders
}

// Planner says what applying files would do.
type Planner interface {
	// Plan compares a submission with what is stored. Mistakes in the files are
	// config.Diagnostics; warnings are in the plan.
	Plan(ctx context.Context, s plans.Submission) (plans.Plan, error)
}

// Applier makes files the current definition.
type Applier interface {
	// Apply makes the submission's definition current, if it still means what was
	// approved; else the error is a *plans.StaleError.
	Apply(ctx context.Context, s plans.Submission, approved plans.Approval) (plans.Receipt, error)
}

// Reservations promises capacity.
type Reservations interface {
	// CreateReservation promises capacity of a class for a time. A promise that can't
	// be kept is kept on the books all the same, and the answer says what is missing.
	CreateReservation(ctx context.Context, r orders.ReservationRequest) (planner.ReservationPlan, error)
	// DeleteReservation ends one that was made by command.
	DeleteReservation(ctx context.Context, id fleet.CapacityReservationID) error
}

// Tokens makes and ends API tokens.
type Tokens interface {
	// CreateToken makes an API token; its secret is returned this once.
	CreateToken(ctx context.Context, t access.NewToken) (access.Token, string, error)
	// DeleteToken ends a token at once, by id or name.
	DeleteToken(ctx context.Context, idOrName string) error
}

// Keys lists, rotates and deletes the installation's keys.
type Keys interface {
	// Keys lists the installation's keys, those in use first of each kind.
	Keys(ctx context.Context) ([]keys.Key, error)
	// RotateKey replaces the key of a kind by a new one, which it returns. The old
	// one stays trusted until nothing needs it.
	RotateKey(ctx context.Context, kind string) (keys.Key, error)
	// DeleteKey ends the trust in an old key that nothing needs any more; else the
	// error is a *access.ConflictError.
	DeleteKey(ctx context.Context, id string) error
}

// Queries answers what people ask.
type Queries interface {
	Fleets(ctx context.Context) ([]view.Fleet, error)
	Instances(ctx context.Context) ([]view.Instance, error)
	// History lists instances, the ended ones too, the newest first.
	History(ctx context.Context, by query.HistoryFilter) (query.History, error)
	// Instance finds one, live or terminated, by its id or the beginning or end of it
	// that no other has; else the error is a *access.NotFoundError or an
	// *access.InvalidError.
	Instance(ctx context.Context, id string) (view.Instance, error)
	// Unrecorded lists what providers have that no live instance accounts for.
	Unrecorded(ctx context.Context) ([]fleet.UnrecordedResource, error)
	// Images are those that fleets should boot or that instances were made from.
	Images(ctx context.Context) ([]view.ImageReport, error)
	// Reservations are those that haven't ended, of the file and made by command.
	Reservations(ctx context.Context) ([]planner.ReservationPlan, error)
	// Decisions are the newest of a fleet, the newest first.
	Decisions(ctx context.Context, address fleet.FleetAddress, limit int) ([]fleet.Decision, error)
	// Events lists what happened, in the order of time, the newest at the end.
	Events(ctx context.Context, by query.EventFilter) ([]query.Event, error)
	// Refusals tell of agents' calls that the running manager refused since its
	// start, the latest first; none where no manager runs.
	Refusals(ctx context.Context) ([]fleet.Refusal, error)
}
