// Package scheduler defines the interface to the CI system that owns jobs and leases.
// Its sub-packages are the adapters, one for each type of scheduler.
//
// Demand and the state of runners come in; admissions and cordons go out. It never
// places or starts a job, and concludes nothing from an answer that didn't arrive. The
// executor calls it, and ci decides which call is next.
package scheduler
