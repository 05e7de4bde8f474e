// Package market keeps what is known of the providers' markets: the offers that they
// list, and circuit breakers for places that had no capacity or quota (spec §165).
//
// Lists and Circuits are values in memory. The loop requests offers when Lists says so,
// and passes in what was listed and how provisions ended. A provision that failed for
// lack of capacity or quota opens a breaker, time half-opens it, one operation probes it,
// and an instance that is made closes it. The planner reads both.
//
// It makes no calls and doesn't decide what is made. Time and randomness are passed in.
// If its memory is lost, each market is asked and each offer is tried again.
package market
