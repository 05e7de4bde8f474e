package control

import (
	"context"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// Audit lists what was done by whom, the newest first. A caller who is limited to
// fleets sees their own doings: records tell of the whole installation.
func (m *Manager) Audit(ctx context.Context, limit int) ([]AuditRecord, error) {
	caller, err := authorize(ctx, "audit")
	if err != nil {
		return nil, err
	}
	wanted := limit
	if len(caller.Fleets) > 0 {
		wanted = 0 // others' records count for nothing
	}
	stored, err := m.store.Audit(ctx, wanted)
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

// audit keeps a record of something that the caller did.
func (m *Manager) audit(ctx context.Context, action, detail string) error {
	record, err := m.auditRecord(ctx, action, detail)
	if err != nil {
		return err
	}
	return m.store.AppendAudit(ctx, record)
}

// auditRecord is for writes that keep it in their own transaction.
func (m *Manager) auditRecord(ctx context.Context, action, detail string) (store.AuditRecord, error) {
	now := m.options.Clock()
	id, err := newID(now)
	return store.AuditRecord{ID: id, At: now.UTC(), By: CallerOf(ctx).Name, Action: action, Detail: detail}, err
}
