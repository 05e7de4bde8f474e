package control

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/keys"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/view"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// Service is what people do with an installation. A *Manager in this process is
// one, and so is the API's client, over a daemon's socket or over HTTPS: a
// command renders what a Service says and doesn't know which one it has.
//
// Every method needs the permission that Permissions names for it. The caller is
// in the context; a *DeniedError refuses it.
type Service interface {
	Reader
	// Apply makes the submission's definition current, if it still means what was
	// approved; else the error is a *StalePlanError.
	Apply(ctx context.Context, s Submission, approved Approval) (Receipt, error)
	// Watch yields the progress of the loop from now on, first where it stands.
	// It ends with ctx, or with the error that cut it off.
	Watch(ctx context.Context) iter.Seq2[Progress, error]

	// Order carries out what a person decided about one instance or one resource
	// that is nobody's; what can't be is a *ConflictError.
	Order(ctx context.Context, o InstanceOrder) (OrderReceipt, error)
	// OrderStanding keeps what a person decided about a fleet, instance, provider or
	// image beside the file, or takes it back.
	OrderStanding(ctx context.Context, o StandingOrder) (StandingReceipt, error)
	// OrderRollout pauses, takes up again or rolls back the rollouts of a fleet, or of
	// every fleet of an image; what can't be is a *ConflictError.
	OrderRollout(ctx context.Context, r RolloutRequest) (RolloutReceipt, error)
	// Reserve promises capacity of a class for a time. A promise that can't be kept
	// is kept on the books all the same, and the answer says what is missing.
	Reserve(ctx context.Context, r ReservationRequest) (planner.ReservationPlan, error)
	// DeleteReservation ends one that was made by command.
	DeleteReservation(ctx context.Context, id fleet.CapacityReservationID) error

	// Join claims a host of an inventory for a fleet and makes the command that
	// joins it; again, a new one in place of the one before.
	Join(ctx context.Context, r JoinRequest) (JoinTicket, error)

	// CreateToken makes an API token; its secret is returned this once.
	CreateToken(ctx context.Context, t access.NewToken) (access.Token, string, error)
	// RevokeToken ends a token at once, by id or name.
	DeleteToken(ctx context.Context, idOrName string) error
	// Audit lists what was done by whom, the newest first.
	Audit(ctx context.Context, limit int) ([]access.AuditRecord, error)

	// Keys lists the installation's keys, those in use first of each kind.
	Keys(ctx context.Context) ([]keys.Key, error)
	// RotateKey replaces the key of a kind by a new one, which it returns. The old
	// one stays trusted until nothing needs it.
	RotateKey(ctx context.Context, kind string) (keys.Key, error)
	// DeleteKey ends the trust in an old key that nothing needs any more; else the
	// error is a *ConflictError.
	DeleteKey(ctx context.Context, id string) error
}

// Reader is the part of a Service that changes nothing. It works on a state
// directory without a manager, too.
type Reader interface {
	// Plan compares a submission with what is stored. Mistakes in the files are
	// config.Diagnostics; warnings are in the plan.
	Plan(ctx context.Context, s Submission) (Plan, error)
	Fleets(ctx context.Context) ([]view.Fleet, error)
	Instances(ctx context.Context) ([]view.Instance, error)
	// History lists instances, the ended ones too, the newest first.
	History(ctx context.Context, q HistoryQuery) (History, error)
	// Instance finds one, live or terminated, by its id or the beginning or end of it
	// that no other has; else the error is a *NotFoundError or an *InvalidError.
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
	Events(ctx context.Context, q EventQuery) ([]Event, error)
	// Tokens lists the API tokens without their secrets.
	Tokens(ctx context.Context) ([]access.Token, error)
	// CheckOrder, CheckStanding and CheckRollout say what the orders of a Service would
	// do, or fail as they would, and change nothing: so that nobody is asked about what
	// is refused afterwards. They need the permission of the order.
	CheckOrder(ctx context.Context, o InstanceOrder) (OrderReceipt, error)
	CheckStanding(ctx context.Context, o StandingOrder) (StandingReceipt, error)
	CheckRollout(ctx context.Context, r RolloutRequest) (RolloutReceipt, error)
	// Refusals tell of agents' calls that the running manager refused since its
	// start, the latest first; none where no manager runs.
	Refusals(ctx context.Context) ([]fleet.Refusal, error)
}

// Submission is what a user wants applied: everything that the definition is
// made from, so that a manager elsewhere reads the same.
type Submission struct {
	Sources []config.Source `json:"sources"`
	// Lock is the text of fleet.lock.hcl.
	Lock      string           `json:"lock"`
	Variables config.Variables `json:"variables"`
	// Prune drains the fleets that the files don't mention.
	Prune bool `json:"prune,omitempty"`
	// Approved has a plan refused as its apply would be: with a *StalePlanError where it
	// no longer means what was approved, and a *ConflictError where it was used. Nil: it
	// is planned anew. An apply has its own.
	Approved *Approval `json:"approved,omitempty"`
}

// NewSubmission is a workspace as it is sent to a manager. Of the environment
// only what sets variables goes along.
func NewSubmission(w workspace.Workspace, variables config.Variables, prune bool) Submission {
	var own []string
	for _, line := range variables.Environment {
		if strings.HasPrefix(line, config.VariablePrefix) {
			own = append(own, line)
		}
	}
	variables.Environment = own
	return Submission{Sources: w.Sources, Lock: string(w.Lock.Bytes()), Variables: variables, Prune: prune}
}

// Approval is what of a plan must still be true when it is applied.
type Approval struct {
	// Serial is of the definition that the plan was made from; 0: none.
	Serial int64 `json:"serial"`
	// Format is PlanFormat when the plan was made.
	Format int `json:"format"`
	// Lock is the digest of the plugin lock.
	Lock string `json:"lock"`
	// Settings is the digest of what the plan replaces apart from fleets.
	Settings string `json:"settings"`
	// Fleets are the serials of the fleets that the plan touches, 0 for those
	// that it creates.
	Fleets map[fleet.FleetAddress]int64 `json:"fleets,omitempty"`
	// Authority is the id of the key of the installation that the plan was made
	// for; empty: there was none yet, or any will do.
	Authority string `json:"authority,omitempty"`
	// Saved binds the apply of a saved plan further; nil: it follows its plan at
	// once.
	Saved *SavedApproval `json:"saved,omitempty"`
}

// PlanFormat is the version of plans; one of another version is stale.
const PlanFormat = 1

// Receipt is an apply that was stored.
type Receipt struct {
	Serial int64 `json:"serial"`
	// Changed says that the definition changed; false: it was current already.
	Changed bool `json:"changed"`
}

// Progress is what one step of the loop led to, for people who watch.
type Progress struct {
	At          time.Time                           `json:"at"`
	Transitions []loop.Transition                   `json:"transitions,omitempty"`
	States      map[fleet.CapacityInstanceState]int `json:"states"`
	// Settled: everything was seen and nothing is on its way. Stuck: nothing
	// moves any more, and what is missing needs a person.
	Settled bool `json:"settled"`
	Stuck   bool `json:"stuck"`
	// Serial is of the definition that the step worked with.
	Serial     int64                                 `json:"serial"`
	Unresolved int                                   `json:"unresolved"`
	Holds      map[fleet.RunnerFleetID]snapshot.Hold `json:"holds,omitempty"`
	Blocked    map[fleet.ProviderAddress]string      `json:"blocked,omitempty"`
	Unobserved map[fleet.ProviderAddress]string      `json:"unobserved,omitempty"`
	// Faults are what went wrong with providers last.
	Faults map[fleet.ProviderAddress]string `json:"faults,omitempty"`
	// Unrecorded is what providers have that no live instance accounts for.
	Unrecorded map[fleet.ProviderAddress]fleet.Unrecorded `json:"unrecorded,omitempty"`
	// Silent are the instances whose agents have missed their heartbeats, with
	// their fleets.
	Silent map[fleet.CapacityInstanceID]fleet.FleetAddress `json:"silent,omitempty"`
	// Observed says of each provider when its last complete inspection began.
	Observed map[fleet.ProviderAddress]time.Time `json:"observed,omitempty"`
	// Schedulers are those that can't be seen, with the reason, and Unplaced the
	// waiting work that nothing covers.
	Schedulers map[fleet.SchedulerAddress]string `json:"schedulers,omitempty"`
	Unplaced   []planner.UnplacedDemand          `json:"unplaced,omitempty"`
	// Rollouts are those that are under way.
	Rollouts map[fleet.FleetAddress]planner.RolloutPlan `json:"rollouts,omitempty"`
	// Waits are what else keeps fleets from what they should have.
	Waits map[fleet.FleetAddress][]planner.Wait `json:"waits,omitempty"`
	// Following counts the fleets that follow the demand of a scheduler.
	Following int `json:"following,omitempty"`
	// Fleets are the addresses of the fleets in Holds.
	Fleets map[fleet.RunnerFleetID]fleet.FleetAddress `json:"fleets,omitempty"`
}
