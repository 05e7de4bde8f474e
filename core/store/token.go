package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// APIToken is a token of the HTTP API. The digest of its secret lies beside the
// record and never comes out again.
type APIToken struct {
	ID          string               `json:"id"`
	Name        string               `json:"name"`
	Permissions []string             `json:"permissions"`
	Fleets      []fleet.FleetAddress `json:"fleets,omitempty"`
	Created     time.Time            `json:"created"`
	By          string               `json:"by"`
	// Expires and Revoked are zero where they never happen.
	Expires time.Time `json:"expires,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"`
}

// NameTakenError refuses a token whose name a live one has.
type NameTakenError struct{ Name string }

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("token %q already exists; delete it first, or choose another name", e.Name)
}

// CreateAPIToken keeps a token with the digest of its secret and the record of
// its making, both or neither. The name of a token that expired is free: that
// one counts as revoked from its end on.
func (s *Store) CreateAPIToken(ctx context.Context, token APIToken, hash string, record AuditRecord) error {
	return s.write(ctx, "create a token", func(tx *sql.Tx, _ int64) error {
		namesakes, err := liveTokens(ctx, tx, "name", token.Name)
		if err != nil {
			return err
		}
		for _, other := range namesakes {
			if other.Expires.IsZero() || other.Expires.After(token.Created) {
				return &NameTakenError{token.Name}
			}
			if err := revoke(ctx, tx, other, other.Expires); err != nil {
				return err
			}
		}
		text, err := encode(token)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(
			ctx,
			`INSERT INTO api_token (id, name, hash, expires, revoked, record) VALUES ($1, $2, $3, $4, 0, $5)`,
			token.ID,
			storable(token.Name),
			hash,
			micros(token.Expires),
			text,
		); err != nil {
			return err
		}
		return appendAudit(ctx, tx, record)
	})
}

// APITokens lists all tokens by id, those that ended among them.
func (s *Store) APITokens(ctx context.Context) ([]APIToken, error) {
	return browse(ctx, s, "list the tokens", decode[APIToken], `SELECT record FROM api_token ORDER BY id`)
}

// APITokenByHash finds the token of a secret's digest, whether or not it ended.
func (s *Store) APITokenByHash(ctx context.Context, hash string) (token APIToken, found bool, err error) {
	tokens, err := browse(ctx, s, "find a token", decode[APIToken], `SELECT record FROM api_token WHERE hash = $1`, hash)
	if err != nil || len(tokens) == 0 {
		return APIToken{}, false, err
	}
	return tokens[0], true, nil
}

// RevokeAPIToken ends a token and keeps the record of it, both or neither. An
// unknown token, or one that is revoked already, isn't found and nothing is
// written.
func (s *Store) RevokeAPIToken(
	ctx context.Context,
	id string,
	at time.Time,
	record AuditRecord,
) (found bool, err error) {
	err = s.write(ctx, "revoke a token", func(tx *sql.Tx, _ int64) error {
		live, err := liveTokens(ctx, tx, "id", id)
		if err != nil || len(live) == 0 {
			return err
		}
		found = true
		if err := revoke(ctx, tx, live[0], at); err != nil {
			return err
		}
		return appendAudit(ctx, tx, record)
	})
	return found && err == nil, err
}

// liveTokens are the tokens with a value in a column that aren't revoked.
func liveTokens(ctx context.Context, tx *sql.Tx, column, value string) ([]APIToken, error) {
	return recordsOf(
		ctx,
		tx,
		decode[APIToken],
		`SELECT record FROM api_token WHERE revoked = 0 AND `+column+` = $1`,
		storable(value),
	)
}

func revoke(ctx context.Context, tx *sql.Tx, token APIToken, at time.Time) error {
	token.Revoked = at
	text, err := encode(token)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(
		ctx,
		`UPDATE api_token SET revoked = $1, record = $2 WHERE id = $3`,
		micros(at),
		text,
		token.ID,
	)
	return err
}

// micros is a time in a column, 0 for never.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
