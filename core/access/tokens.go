package access

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

// Token is an API token without its secret, of which only a hash is kept.
type Token struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Permissions []Permission `json:"permissions"`
	// Fleets limits the token to these; empty: all.
	Fleets  []fleet.FleetAddress `json:"fleets,omitempty"`
	Created time.Time            `json:"created"`
	By      string               `json:"by"`
	Expires time.Time            `json:"expires,omitzero"`
	Revoked time.Time            `json:"revoked,omitzero"`
}

// NewToken is what a token is made fros.
type NewToken struct {
	Name        string               `json:"name"`
	Permissions []Permission         `json:"permissions"`
	Fleets      []fleet.FleetAddress `json:"fleets,omitempty"`
	// For is how long it is good; 0: until it is revoked.
	For time.Duration `json:"for,omitempty"`
}

// TokenList shows the API tokens of a store.
type TokenList struct{ store *store.Store }

// NewTokenList is of a store that may be read-only.
func NewTokenList(s *store.Store) TokenList { return TokenList{s} }

// TokenStore makes, checks and deletes API tokens.
type TokenStore struct {
	TokenList
	clock func() time.Time
}

// NewTokenStore is of a store that is open for writing.
func NewTokenStore(s *store.Store, clock func() time.Time) TokenStore {
	return TokenStore{NewTokenList(s), clock}
}

// CreateToken makes an API token, with at most what its maker has: a token that
// could make a stronger one would be the stronger one. The secret is returned
// this once; only its digest is kept.
func (s TokenStore) CreateToken(ctx context.Context, wanted NewToken) (Token, string, error) {
	caller, err := Authorize(ctx, "token create")
	if err != nil {
		return Token{}, "", err
	}
	now := s.clock()
	if err := s.checkNewToken(ctx, wanted); err != nil {
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
	if token.ID, err = fleet.NewULID(now, rand.Reader); err != nil {
		return Token{}, "", err
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // it ends the program rather than fail
	secret := secretPrefix + secretEncoding.EncodeToString(random[:])
	record, err := NewAuditRecord(
		ctx,
		s.clock(),
		"token create",
		fmt.Sprintf("token %q (%s) with %s", token.Name, token.ID, grants(token)),
	)
	if err != nil {
		return Token{}, "", err
	}
	err = s.store.CreateAPIToken(ctx, token, secretDigest(secret), record)
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
func (s TokenStore) checkNewToken(ctx context.Context, wanted NewToken) error {
	switch {
	// A name begins with a letter and an id with a digit, so neither is the other.
	case !fleet.ValidName(wanted.Name):
		return Invalid(
			"the name %q can't be a token's: use lower-case letters, digits, - and _, at most 63, a letter first",
			wanted.Name,
		)
	case len(wanted.Permissions) == 0:
		return Invalid("the token %q has no permission; give one or more of %s", wanted.Name, joined(AllPermissions()))
	case wanted.For < 0:
		return Invalid(
			"the token %q would have expired %s ago; give the time that it shall be good for",
			wanted.Name,
			-wanted.For,
		)
	case wanted.For > LongestToken:
		return Invalid(
			"the token %q would be good for %s, and at most %d days can be given; without a time it is good until it is revoked",
			wanted.Name,
			wanted.For,
			LongestToken/(24*time.Hour),
		)
	}
	for _, p := range wanted.Permissions {
		if !slices.Contains(AllPermissions(), p) {
			return Invalid("invalid permission %q: use %s", p, joined(AllPermissions()))
		}
	}
	if len(wanted.Fleets) == 0 {
		return nil
	}
	there, err := s.store.Fleets(ctx)
	if err != nil {
		return err
	}
	for _, address := range wanted.Fleets {
		// A misspelled fleet would make a token that does nothing, and says so late.
		only := Caller{Fleets: []fleet.FleetAddress{address}}
		if !slices.ContainsFunc(there, func(f fleet.ManagedFleet) bool { return only.MayTouch(f.Address) }) {
			return Invalid(
				"fleet %q, to which the token %q is to be limited, was not applied; write fleet.NAME as forgeyard-fleet "+
					"list shows it",
				address,
				wanted.Name,
			)
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
		if !c.MayTouch(a) {
			return &DeniedError{Caller: c.Name, UseCase: "token create", Fleet: a}
		}
	}
	if !c.mayTouchAll(t.Fleets) {
		return Invalid(
			"%s is limited to fleets, and can't make a token for all; limit the token to %s",
			c.Name,
			joined(c.Fleets),
		)
	}
	if !c.Until.IsZero() && (t.Expires.IsZero() || t.Expires.After(c.Until)) {
		return Invalid(
			"%s expires at %s, and can't make a token that is good for longer; give a shorter time",
			c.Name,
			c.Until.UTC().Format(time.RFC3339),
		)
	}
	return nil
}

// mayTouchAll says whether a token's limits, where none means all fleets, are
// within the caller's.
func (c Caller) mayTouchAll(fleets []fleet.FleetAddress) bool {
	if len(c.Fleets) == 0 {
		return true
	}
	return len(fleets) > 0 && !slices.ContainsFunc(fleets, func(a fleet.FleetAddress) bool { return !c.MayTouch(a) })
}

// Tokens lists the tokens, those that ended among them until they are pruned. A
// caller who is limited to fleets sees those that reach no further.
func (l TokenList) Tokens(ctx context.Context) ([]Token, error) {
	caller, err := Authorize(ctx, "token list")
	if err != nil {
		return nil, err
	}
	return l.tokensWithin(ctx, caller)
}

func (l TokenList) tokensWithin(ctx context.Context, caller Caller) ([]Token, error) {
	stored, err := l.store.APITokens(ctx)
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

// DeleteToken ends a token at once, by id or name. One that the caller can't see
// isn't there.
func (s TokenStore) DeleteToken(ctx context.Context, idOrName string) error {
	caller, err := Authorize(ctx, "token delete")
	if err != nil {
		return err
	}
	tokens, err := s.tokensWithin(ctx, caller)
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
	record, err := NewAuditRecord(
		ctx,
		s.clock(),
		"token delete",
		fmt.Sprintf("token %q (%s)", tokens[n].Name, tokens[n].ID),
	)
	if err != nil {
		return err
	}
	found, err := s.store.RevokeAPIToken(ctx, tokens[n].ID, s.clock().UTC(), record)
	if err == nil && !found {
		return missing // somebody else was faster
	}
	return err
}

// Authenticate finds the caller of a token. It is asked on every request, so that
// a token ends the moment it is revoked. ErrUnauthenticated refuses.
func (s TokenStore) Authenticate(ctx context.Context, secret string) (Caller, error) {
	if len(secret) != secretLength || !strings.HasPrefix(secret, secretPrefix) {
		return Caller{}, ErrUnauthenticated
	}
	// The database compares digests, whose likeness says nothing about that of
	// secrets.
	token, found, err := s.store.APITokenByHash(ctx, secretDigest(secret))
	if err != nil {
		return Caller{}, err
	}
	if !found || !token.Revoked.IsZero() || !token.Expires.IsZero() && !s.clock().Before(token.Expires) {
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
	token := Token{
		ID:      t.ID,
		Name:    t.Name,
		Fleets:  t.Fleets,
		Created: t.Created,
		By:      t.By,
		Expires: t.Expires,
		Revoked: t.Revoked,
	}
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
