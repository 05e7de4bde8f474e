// Package retry says how long to wait before something that failed is tried
// again.
//
// It computes durations from numbers alone: it reads no clock, draws no
// randomness and never waits. market, ci and loop ask it; what comes of it is
// the time of a next try in their memories.
package retry
