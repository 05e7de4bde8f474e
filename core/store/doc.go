// Package store keeps the durable state of one installation in SQLite or PostgreSQL:
// definitions, fleets, instances, operations, decisions, runners, overrides, tokens
// and audit records.
//
// It has no business rules: it stores rows atomically and in order, and fences writers
// that lost the writer's lock. Each kind of row has one writer and a table of its own
// (docs/architecture.md lists them); everything that reads gets a snapshot.State.
package store
