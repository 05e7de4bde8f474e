// Package loop is the loop that makes observed capacity equal to desired
// capacity [146, 149], as a step function: Step(now, events) → effects.
//
// A step loads the stored truth, takes in what happened since the last one
// (answers, inspections, the agents' recorded facts), lets deadlines pass,
// admits runners, plans, and commits everything in one transaction. Only then
// are its effects returned, as plain values: intent is stored before any
// provider call [151], and no transaction is open during one [150]. Whoever runs
// the effects hands their results back as events.
//
// It starts no goroutine, has no ticker, never reads a clock and never waits
// for a provider. Everything it keeps in memory (the last inspection, calls
// under way, back-off) may be lost at any instruction: the next process
// rebuilds it by inspecting.
package loop
