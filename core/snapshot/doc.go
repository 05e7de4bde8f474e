// Package snapshot holds everything that is known in one step: the stored state, and
// what a running manager has observed.
//
// The loop builds one Snapshot in each step and plans from it. Commands that read, such as
// status or a plan preview, join the state that was just loaded with the observations of
// the last step. Both get the same instances, since one function derives them.
//
// It makes no decisions and does no I/O. A Snapshot is never changed after it is built.
package snapshot
