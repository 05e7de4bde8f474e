package orders

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/agentserver"
	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// JoinRequest asks for the command that joins a host of an inventory.
type JoinRequest struct {
	Host string `json:"host"`
	// Fleet is an address or a name; empty: the one fleet that can take the host.
	Fleet string `json:"fleet,omitempty"`
	// Foreground makes a command whose agent runs in the shell that it is pasted
	// into.
	Foreground bool `json:"foreground,omitempty"`
}

// JoinTicket is a claim with its command, which holds the token: it is secret
// until it was used.
type JoinTicket struct {
	Host     string                   `json:"host"`
	Fleet    fleet.FleetAddress       `json:"fleet"`
	Provider fleet.ProviderAddress    `json:"provider"`
	Instance fleet.CapacityInstanceID `json:"instance"`
	Expires  time.Time                `json:"expires"`
	// Renewed says that the host was claimed already, and that the command before
	// this one is void.
	Renewed bool   `json:"renewed,omitempty"`
	Command string `json:"command"`
	// Notes are what may keep the command from working.
	Notes []string `json:"notes,omitempty"`
}

// Joins claims hosts of inventories for fleets.
type Joins struct {
	Store *store.Store
	Clock func() time.Time
	// Version is of this program, whose agents hosts get.
	Version string
	Tokens  *pki.Tokens
	// Applying is held so that no fleet changes between the choice and the claim.
	Applying sync.Locker
	// Bootstrap is the first-boot document of a provider's host, with what a person
	// should know about the address in it.
	Bootstrap func(context.Context, fleet.ProviderAddress, fleet.Platform) (fleet.BootstrapIntent, []string, error)
	// Loop is the running one; nil: none runs.
	Loop func() *Loop
}

// Join claims a host for a fleet and makes the command that joins it. The claim is stored
// before anyone sees the token; its instance is written by the next step of the loop, of
// this manager or the next one. For a host that is claimed and was not joined yet, it
// makes another token and voids the one before.
func (j Joins) Join(ctx context.Context, r JoinRequest) (JoinTicket, error) {
	caller, err := access.Authorize(ctx, "token join")
	if err != nil {
		return JoinTicket{}, err
	}
	j.Applying.Lock()
	defer j.Applying.Unlock()
	state, err := j.Store.Load(ctx)
	if err != nil {
		return JoinTicket{}, err
	}
	choice, err := chooseFleet(state, caller, r)
	if err != nil {
		return JoinTicket{}, err
	}
	boot, notes, err := j.Bootstrap(ctx, choice.fleet.Provider, choice.asset.Platform)
	if err != nil {
		return JoinTicket{}, err
	}
	claim, token, err := j.claim(ctx, caller, choice, boot)
	if err != nil {
		return JoinTicket{}, err
	}
	line, err := agentserver.JoinCommand{Bootstrap: boot, Token: token, Foreground: r.Foreground}.Line()
	if l := j.Loop(); l != nil {
		l.Wake()
	}
	return JoinTicket{
		Host: claim.Asset, Fleet: choice.fleet.Address, Provider: claim.Provider, Instance: claim.Instance,
		Expires: claim.Expires, Renewed: choice.claim != nil, Command: line, Notes: notes,
	}, err
}

// claim stores a new claim, or a new token of the one that there is.
func (j Joins) claim(
	ctx context.Context,
	caller access.Caller,
	c joinChoice,
	boot fleet.BootstrapIntent,
) (claim fleet.AssetClaim, token string, err error) {
	now := j.Clock().UTC()
	record, err := access.NewAuditRecord(
		ctx,
		j.Clock(),
		"token join",
		fmt.Sprintf("host %s of provider.%s for %s", c.asset.ID, c.fleet.Provider, c.fleet.Address),
	)
	if err != nil {
		return claim, "", err
	}
	nonce, err := j.Tokens.NewNonce(rand.Reader)
	if err != nil {
		return claim, "", err
	}
	failpoint.ClaimUncommitted.Hit()
	defer failpoint.ClaimCommitted.Hit()
	claim = fleet.AssetClaim{
		Provider: c.fleet.Provider,
		Asset:    c.asset.ID,
		At:       now,
		By:       caller.Name,
		Nonce:    nonce,
		Expires:  now.Add(fleet.JoinTokenLife),
	}
	if c.claim != nil {
		claim.Instance = c.claim.Instance
		token = j.Tokens.Token(c.key, nonce)
		claim.TokenHash = j.Tokens.Hash(token)
		err = j.Store.RenewJoinToken(ctx, claim, record)
	} else {
		why := reason.Of(reason.JoinRequested{By: caller.Name, Asset: c.asset.ID})
		instance, operation, failed := inventory.RequestAsset(newID, j.Version, now, c.fleet, c.asset, boot, why)
		if failed != nil {
			return claim, "", failed
		}
		claim.Instance = instance.ID
		token = j.Tokens.Token(operation.ID, nonce)
		claim.TokenHash = j.Tokens.Hash(token)
		err = j.Store.ClaimAsset(ctx, store.NewClaim{
			Claim:     claim,
			Instance:  instance,
			Operation: operation,
			Serial:    c.fleet.Serial,
			Max:       c.fleet.Scaling.Max,
			Audit:     record,
		})
	}
	if refused, ok := errors.AsType[*store.ClaimRefusedError](err); ok {
		return claim, "", &access.ConflictError{Reason: refused.Reason}
	}
	if taken, ok := errors.AsType[*store.AssetTakenError](err); ok {
		return claim, "", &access.ConflictError{Reason: taken.Error() + " just now; try again"}
	}
	return claim, token, err
}

// newID makes the ids of instances and operations.
func newID(now time.Time) (string, error) { return fleet.NewULID(now, rand.Reader) }
