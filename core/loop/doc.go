// Package loop is the reconciliation loop, which makes observed capacity equal to
// desired capacity (spec §146, §149), as a step function: Step(ctx, now, events) → result.
//
// A step loads the stored state, applies the events since the last step (answers,
// inspections, facts that agents reported), expires deadlines, admits runners, plans, and
// commits everything in one transaction. Only then does it return its effects, as plain
// values: intent is stored before any provider call (spec §151), and no transaction is open
// during a call (spec §150). The executor carries effects out and returns results as events.
//
// It starts no goroutine, has no ticker, reads no clock and never waits for a provider.
// What it keeps in memory (the last inspection, calls in progress, back-off) may be lost
// at any instruction: the next process rebuilds it from inspections.
package loop
