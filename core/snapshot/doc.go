// Package snapshot holds everything that is known in one step: the stored state,
// and what a running manager has observed beyond it.
//
// The loop builds one Snapshot per step and plans from it. Whoever reads, such as
// status or a plan preview, puts the state that was loaded just now together with
// the observations of the last step. Both get the same instances from it, since one
// function derives them: what is said of an instance never depends on who asks.
//
// A Snapshot is a value that nobody writes to after it is built.
package snapshot
