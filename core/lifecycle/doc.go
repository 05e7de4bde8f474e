// Package lifecycle is the state machines of capacity instances and operations
// as data [46, 51]: which move is allowed for which cause, which state counts
// as footprint and which as capacity, which deadline leads out of a state, and
// what an agent is told in each.
//
// It never acts and never looks at a clock: the loop asks it, with the facts
// that it has observed, and stores the result.
package lifecycle
