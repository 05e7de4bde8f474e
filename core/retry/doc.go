// Package retry computes back-off: how long to wait before a failed call is repeated.
//
// It computes durations from numbers only: it reads no clock, draws no randomness and
// never waits. market, ci and loop use it and keep the time of the next try.
package retry
