package control

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// secretPrefix lets people and scanners tell a token of ours from anything else.
const secretPrefix = "fyk_"

// secretEncoding is of 32 random bytes: 52 letters and digits.
var secretEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// LongestToken bounds how long a token is good that expires by itself: a slip of the
// keyboard should not look like one.
const LongestToken = 10 * 365 * 24 * time.Hour

const secretLength = len(secretPrefix) + 52

// CreateToken makes an API token, with at most what its maker has: a token that
// could make a stronger one would be the stronger one. The secret is returned
// this once; only its digest is kept.
func (m *Manager) CreateToken(ctx context.Context, wanted NewToken) (Token, string, error) {
	caller, err := authorize(ctx, "token create")
	if err != nil {
		return Token{}, "", err
	}
	now := m.options.Clock()
	if err := m.checkNewToken(ctx, wanted); err != nil {
		return Token{}, "", err
	}
	token := store.APIToken{Name: wanted.Name, Created: now.UTC(), By: caller.Name, Fleets: wanted.Fleets}
	for _, p := range wanted.Permissions {
		token.Permissions = append(token.Permissions, string(p))
	}
	if wanted.For > 0 {
		token.Expires = now.Add(wanted.For).UTC()
	}
	if err := caller.mayGrant(token); err != nil {
		return Token{}, "", err
	}
	if token.ID, err = newID(now); err != nil {
		return Token{}, "", err
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // it ends the program rather than fail
	secret := secretPrefix + secretEncoding.EncodeToString(random[:])
	record, err := m.auditRecord(ctx, "token create", fmt.Sprintf("token %q (%s) with %s", token.Name, token.ID, grants(token)))
	if err != nil {
		return Token{}, "", err
	}
	err = m.store.CreateAPIToken(ctx, token, secretDigest(secret), record)
	if taken, ok := errors.AsType[*store.NameTakenError](err); ok {
		return Token{}, "", &ConflictError{taken.Error()}
	}
	if err != nil {
		return Token{}, "", err
	}
	return tokenOf(token), secret, nil
}

// checkNewToken refuses what would be a token that does nothing, or other than
// its maker believes.
func (m *Manager) checkNewToken(ctx context.Context, wanted NewToken) error {
	invalid := func(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }
	switch {
	// A name begins with a letter and an id with a digit, so neither is the other.
	case !fleet.ValidName(wanted.Name):
		return invalid("the name %q can't be a token's: use lower-case letters, digits, - and _, at most 63, a letter first", wanted.Name)
	case len(wanted.Permissions) == 0:
		return invalid("the token %q has no permission; give one or more of %s", wanted.Name, joined(AllPermissions()))
	case wanted.For < 0:
		return invalid("the token %q would have expired %s ago; give the time that it shall be good for", wanted.Name, -wanted.For)
	case wanted.For > LongestToken:
		return invalid("the token %q would be good for %s, and at most %d days can be given; without a time it is good until it is revoked", wanted.Name, wanted.For, LongestToken/(24*time.Hour))
	}
	for _, p := range wanted.Permissions {
		if !slices.Contains(AllPermissions(), p) {
			return invalid("there is no permission %q; there are %s", p, joined(AllPermissions()))
		}
	}
	if len(wanted.Fleets) == 0 {
		return nil
	}
	there, err := m.store.Fleets(ctx)
	if err != nil {
		return err
	}
	for _, address := range wanted.Fleets {
		// A misspelled fleet would make a token that does nothing, and says so late.
		only := Caller{Fleets: []fleet.FleetAddress{address}}
		if !slices.ContainsFunc(there, func(f fleet.ManagedFleet) bool { return only.mayTouch(f.Address) }) {
			return invalid("there is no fleet %q to limit the token %q to; write fleet.NAME of a fleet that was applied, as forgeyard-fleet list shows it", address, wanted.Name)
		}
	}
	return nil
}

// mayGrant says whether a token stays within what its maker has.
func (c Caller) mayGrant(t store.APIToken) error {
	for _, p := range t.Permissions {
		if !slices.Contains(c.Permissions, Permission(p)) {
			return &DeniedError{Caller: c.Name, UseCase: "token create", Needs: Permission(p)}
		}
	}
	for _, a := range t.Fleets {
		if !c.mayTouch(a) {
			return &DeniedError{Caller: c.Name, UseCase: "token create", Fleet: a}
		}
	}
	if !c.mayTouchAll(t.Fleets) {
		return &InvalidError{fmt.Sprintf("%s is limited to fleets, and can't make a token for all; limit the token to %s", c.Name, joined(c.Fleets))}
	}
	if !c.Until.IsZero() && (t.Expires.IsZero() || t.Expires.After(c.Until)) {
		return &InvalidError{fmt.Sprintf("%s expires at %s, and can't make a token that is good for longer; give a shorter time", c.Name, c.Until.UTC().Format(time.RFC3339))}
	}
	return nil
}

// mayTouchAll says whether a token's limits, where none means all fleets, are
// within the caller's.
func (c Caller) mayTouchAll(fleets []fleet.FleetAddress) bool {
	if len(c.Fleets) == 0 {
		return true
	}
	return len(fleets) > 0 && !slices.ContainsFunc(fleets, func(a fleet.FleetAddress) bool { return !c.mayTouch(a) })
}

// Tokens lists the tokens, those that ended among them until they are pruned. A
// caller who is limited to fleets sees those that reach no further.
func (r *reading) Tokens(ctx context.Context) ([]Token, error) {
	caller, err := authorize(ctx, "token list")
	if err != nil {
		return nil, err
	}
	return r.tokensWithin(ctx, caller)
}

func (r *reading) tokensWithin(ctx context.Context, caller Caller) ([]Token, error) {
	stored, err := r.store.APITokens(ctx)
	if err != nil {
		return nil, err
	}
	tokens := []Token{}
	for _, t := range stored {
		if caller.mayTouchAll(t.Fleets) {
			tokens = append(tokens, tokenOf(t))
		}
	}
	return tokens, nil
}

// RevokeToken ends a token at once, by id or name. One that the caller can't see
// isn't there.
func (m *Manager) RevokeToken(ctx context.Context, idOrName string) error {
	caller, err := authorize(ctx, "token delete")
	if err != nil {
		return err
	}
	tokens, err := m.tokensWithin(ctx, caller)
	if err != nil {
		return err
	}
	missing := &NotFoundError{Kind: "token", ID: idOrName}
	n := slices.IndexFunc(tokens, func(t Token) bool {
		return t.Revoked.IsZero() && (t.ID == idOrName || t.Name == idOrName)
	})
	if n < 0 {
		return missing
	}
	record, err := m.auditRecord(ctx, "token delete", fmt.Sprintf("token %q (%s)", tokens[n].Name, tokens[n].ID))
	if err != nil {
		return err
	}
	found, err := m.store.RevokeAPIToken(ctx, tokens[n].ID, m.options.Clock().UTC(), record)
	if err == nil && !found {
		return missing // somebody else was faster
	}
	return err
}

// Authenticate finds the caller of a token. It is asked on every request, so that
// a token ends the moment it is revoked. ErrUnauthenticated refuses.
func (m *Manager) Authenticate(ctx context.Context, secret string) (Caller, error) {
	if len(secret) != secretLength || !strings.HasPrefix(secret, secretPrefix) {
		return Caller{}, ErrUnauthenticated
	}
	// The database compares digests, whose likeness says nothing about that of
	// secrets.
	token, found, err := m.store.APITokenByHash(ctx, secretDigest(secret))
	if err != nil {
		return Caller{}, err
	}
	if !found || !token.Revoked.IsZero() || !token.Expires.IsZero() && !m.options.Clock().Before(token.Expires) {
		return Caller{}, ErrUnauthenticated
	}
	c := Caller{Name: "token " + token.Name, Fleets: token.Fleets, Until: token.Expires}
	for _, p := range token.Permissions {
		c.Permissions = append(c.Permissions, Permission(p))
	}
	return c, nil
}

func secretDigest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func tokenOf(t store.APIToken) Token {
	token := Token{ID: t.ID, Name: t.Name, Fleets: t.Fleets, Created: t.Created, By: t.By, Expires: t.Expires, Revoked: t.Revoked}
	for _, p := range t.Permissions {
		token.Permissions = append(token.Permissions, Permission(p))
	}
	return token
}

// grants says what a token gives, for the audit.
func grants(t store.APIToken) string {
	text := joined(t.Permissions) + " for "
	if len(t.Fleets) == 0 {
		text += "all fleets"
	}
	text += joined(t.Fleets)
	if !t.Expires.IsZero() {
		text += ", until " + t.Expires.Format(time.RFC3339)
	}
	return text
}

func joined[S ~string](list []S) string {
	words := make([]string, len(list))
	for n, one := range list {
		words[n] = string(one)
	}
	return strings.Join(words, ", ")
}
