package control

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/agentserver"
	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
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

// Join claims a host for a fleet and makes the command that joins it. The claim,
// the instance and its operation are stored before anybody sees the token. For a
// host that is claimed and was not joined yet, it makes another token and voids
// the one before.
func (m *Manager) Join(ctx context.Context, r JoinRequest) (JoinTicket, error) {
	caller, err := access.Authorize(ctx, "token join")
	if err != nil {
		return JoinTicket{}, err
	}
	m.applying.Lock() // no fleet changes between the choice and the claim
	defer m.applying.Unlock()
	state, err := m.store.Load(ctx)
	if err != nil {
		return JoinTicket{}, err
	}
	choice, err := chooseFleet(state, caller, r)
	if err != nil {
		return JoinTicket{}, err
	}
	boot, notes, err := m.joinBootstrap(ctx, choice.fleet.Provider, choice.asset.Platform)
	if err != nil {
		return JoinTicket{}, err
	}
	claim, token, err := m.claim(ctx, caller, choice, boot)
	if err != nil {
		return JoinTicket{}, err
	}
	line, err := agentserver.JoinCommand{Bootstrap: boot, Token: token, Foreground: r.Foreground}.Line()
	m.wake()
	return JoinTicket{
		Host: claim.Asset, Fleet: choice.fleet.Address, Provider: claim.Provider, Instance: claim.Instance,
		Expires: claim.Expires, Renewed: choice.claim != nil, Command: line, Notes: notes,
	}, err
}

// claim stores a new claim, or a new token of the one that there is.
func (m *Manager) claim(ctx context.Context, caller access.Caller, c joinChoice, boot fleet.BootstrapIntent) (claim fleet.AssetClaim, token string, err error) {
	now := m.options.Clock().UTC()
	record, err := access.NewAuditRecord(ctx, m.options.Clock(), "token join", fmt.Sprintf("host %s of provider.%s for %s", c.asset.ID, c.fleet.Provider, c.fleet.Address))
	if err != nil {
		return claim, "", err
	}
	nonce, err := m.Enrollment.NewNonce(rand.Reader)
	if err != nil {
		return claim, "", err
	}
	failpoint.ClaimUncommitted.Hit()
	defer failpoint.ClaimCommitted.Hit()
	claim = fleet.AssetClaim{Provider: c.fleet.Provider, Asset: c.asset.ID, At: now, By: caller.Name, Nonce: nonce, Expires: now.Add(fleet.JoinTokenLife)}
	if c.claim != nil {
		claim.Instance = c.claim.Instance
		token = m.Enrollment.Token(c.key, nonce)
		claim.TokenHash = m.Enrollment.Hash(token)
		err = m.store.RenewJoinToken(ctx, claim, record)
	} else {
		why := reason.Of(reason.JoinRequested{By: caller.Name, Asset: c.asset.ID})
		instance, operation, failed := inventory.RequestAsset(newID, m.options.Version, now, c.fleet, c.asset, boot, why)
		if failed != nil {
			return claim, "", failed
		}
		claim.Instance = instance.ID
		token = m.Enrollment.Token(operation.ID, nonce)
		claim.TokenHash = m.Enrollment.Hash(token)
		err = m.store.ClaimAsset(ctx, store.NewClaim{
			Claim: claim, Instance: instance, Operation: operation, Serial: c.fleet.Serial, Max: c.fleet.Scaling.Max, Audit: record,
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

// joinBootstrap is the first-boot document for the host, and what a person should
// know about the address in it.
func (m *Manager) joinBootstrap(ctx context.Context, provider fleet.ProviderAddress, p fleet.Platform) (boot fleet.BootstrapIntent, notes []string, err error) {
	if p.OS == "windows" {
		return boot, nil, &access.InvalidError{Reason: "hosts with Windows can't be joined by a command in this version"}
	}
	m.mu.Lock()
	r := m.running
	m.mu.Unlock()
	if r != nil {
		boot, err = r.issuer.Bootstrap(provider, "", p)
	} else {
		notes = append(notes, "No manager is running: the host can be joined as soon as forgeyard-fleet serve runs.")
		boot, err = m.stoppedBootstrap(ctx, provider, p)
	}
	if none, ok := errors.AsType[*agentserver.NoAgentError](err); ok {
		return boot, nil, &access.InvalidError{Reason: none.Error()}
	}
	if err == nil && onlyHere(boot.ManagerURL) {
		notes = append(notes, fmt.Sprintf("The manager's address %s is reached from this machine alone; for other hosts set manager { listen, advertise } in the forgeyard block.", boot.ManagerURL))
	}
	return boot, notes, err
}

// stoppedBootstrap is the document of a manager that doesn't run now: with the
// address that it will have.
func (m *Manager) stoppedBootstrap(ctx context.Context, provider fleet.ProviderAddress, p fleet.Platform) (fleet.BootstrapIntent, error) {
	applied, _, err := m.store.Definition(ctx)
	if err != nil {
		return fleet.BootstrapIntent{}, err
	}
	settings := applied.Definition.Manager
	address := strings.TrimSuffix(applied.Definition.AdvertiseFor(provider), "/")
	if address == "" {
		listen := settings.Listen
		if listen == "" {
			if listen, _, err = m.store.Setting(ctx, "listen"); err != nil {
				return fleet.BootstrapIntent{}, err
			}
		}
		if _, port, err := net.SplitHostPort(listen); err != nil || port == "0" {
			return fleet.BootstrapIntent{}, &access.InvalidError{Reason: "the manager's address isn't known yet: start forgeyard-fleet serve first, or set manager { advertise }"}
		}
		address = "https://" + listen
	}
	sum, err := agentserver.NewAgentBinaries(agentFolder(settings)).SHA256(p.Target())
	if err != nil {
		return fleet.BootstrapIntent{}, err
	}
	return m.bootstrap("", address, p, sum), nil
}

// onlyHere says that an address leads nowhere from another machine.
func onlyHere(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// wake tells a loop that runs of what was stored beside it.
func (m *Manager) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running != nil {
		m.running.exec.Wake()
	}
}
