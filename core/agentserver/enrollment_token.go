package agentserver

import (
	"context"
	"errors"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
)

// enrollmentToken is a token that proved genuine, and what it is bound to.
type enrollmentToken struct {
	// key is the id of the operation, or the key of the batch.
	key   fleet.OperationID
	batch bool
	// subjects is one operation's, or those of the batch in their order; never empty.
	subjects []fleet.EnrollmentSubject
}

// resolveToken finds what the token of an operation or of a batch is bound to, and
// checks that it is theirs. The error is what the agent is told.
func resolveToken(ctx context.Context, store Store, tokens *pki.Tokens, shown string) (enrollmentToken, error) {
	key, wellFormed := pki.ParseToken(shown)
	if !wellFormed {
		return enrollmentToken{}, unknownToken()
	}
	subjects, err := store.TokenSubjects(ctx, key)
	if _, pending := errors.AsType[*fleet.ClaimPendingError](err); pending {
		return enrollmentToken{}, tryLater("the instance of this join command isn't stored yet").with("operation", key)
	}
	if err != nil {
		return enrollmentToken{}, storeFailed("read what a token is bound to", err)
	}
	// A batch's operations all have the batch's token, and none of their own.
	if len(subjects) == 0 || !tokens.Verify(shown, subjects[0].Operation) {
		refused := unknownToken()
		if len(subjects) > 0 && subjects[0].JoinToken {
			refused = replacedToken()
		}
		return enrollmentToken{}, refused.with("operation", key)
	}
	return enrollmentToken{key: key, batch: subjects[0].Operation.Batch.Key == key, subjects: subjects}, nil
}

// about are the attributes by which the log names the token.
func (t enrollmentToken) about() []any {
	if t.batch {
		return []any{"batch", t.key}
	}
	return []any{"operation", t.key, "instance", t.subjects[0].Instance.ID}
}

func unknownToken() *refusal {
	return forbidden(agentapi.CodeTokenUnknown, "the token was not issued by this installation")
}

// replacedToken is for the token of a join command: making another command for the
// same host voids the ones before.
func replacedToken() *refusal {
	return forbidden(
		agentapi.CodeTokenUnknown,
		"another join command was made for this host after this one; use the latest",
	)
}
