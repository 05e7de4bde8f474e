// Package ci keeps what CI systems show of their jobs and runners, and decides which
// call a scheduler gets next: admit a runner, cordon it, take its jobs back, remove it.
//
// Scheduler and Runner are memory that may be lost at any instruction. The loop passes in
// observations and answers, and asks for demand, for the proof that a runner is idle, and
// for the next call. Acknowledgements are fleet.Scheduling values, which the loop stores.
//
// It calls no scheduler and moves no instance. It never infers the state of a runner from
// a sum, and never compares clocks.
package ci
