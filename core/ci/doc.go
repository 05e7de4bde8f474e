// Package ci is what the CI systems show of their jobs and runners, and what they
// must be told: admit a runner, give it no job, take its jobs back, forget it.
//
// Scheduler and Runner are memory of one scheduler and of one runner at it, which may
// be lost at any instruction. The loop hands observations and answers in, and asks
// what is shown, whether a runner is free of jobs and which call is next.
//
// It never calls a scheduler and never moves an instance. What a scheduler
// acknowledged is a fleet.Scheduling, which the loop stores. No runner's state is ever
// inferred from a sum, and no clocks are compared.
package ci
