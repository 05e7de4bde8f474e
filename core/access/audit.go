package access

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// AuditRecord is one thing that somebody did (spec §193).
type AuditRecord struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Action string    `json:"action"`
	Detail string    `json:"detail"`
}

// AuditLog shows what the store keeps of what people did.
type AuditLog struct{ store *store.Store }

// NewAuditLog is of an installation's store.
func NewAuditLog(s *store.Store) AuditLog { return AuditLog{s} }

// Audit lists what was done by whom, the newest first. A caller who is limited to
// fleets sees their own doings: records tell of the whole installation.
func (l AuditLog) Audit(ctx context.Context, limit int) ([]AuditRecord, error) {
	caller, err := Authorize(ctx, "audit")
	if err != nil {
		return nil, err
	}
	wanted := limit
	if len(caller.Fleets) > 0 {
		wanted = 0 // others' records count for nothing
	}
	stored, err := l.store.Audit(ctx, wanted)
	if err != nil {
		return nil, err
	}
	records := []AuditRecord{}
	for _, r := range stored {
		if len(caller.Fleets) == 0 || r.By == caller.Name {
			records = append(records, AuditRecord(r))
		}
	}
	if limit > 0 {
		records = slices.Clip(records[:min(limit, len(records))])
	}
	return records, nil
}

// NewAuditRecord says that the caller of the context does something now. Its
// writer keeps it in the transaction of what it tells of.
func NewAuditRecord(ctx context.Context, now time.Time, action, detail string) (store.AuditRecord, error) {
	id, err := fleet.NewULID(now, rand.Reader)
	return store.AuditRecord{ID: id, At: now.UTC(), By: CallerOf(ctx).Name, Action: action, Detail: detail}, err
}
