// Package store is the durable truth of one installation: what was applied,
// what was decided, what was sent to providers and what agents have shown.
//
// Store is one concrete type over SQL that SQLite and PostgreSQL both take. It
// holds no business rules: it keeps rows whole, in order and fenced, and leaves
// what they mean to its callers. Data comes from control (definitions and
// fleets), the loop (instances, operations, decisions) and enroll (runners);
// each kind has its own table, so that no writer overwrites another's row.
package store
