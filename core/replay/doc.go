// Package replay runs past jobs against a fleet file: it plays a trace of jobs through
// the real planner in virtual time and measures waiting times and costs.
//
// Instances, boots and the scheduler are models without faults; faults are simulated by
// core/testonly/simulation. It launches no plugin, reads no clock and makes no decisions
// of its own. The trace comes from a CSV file and the fleets from config; the Result goes
// to the command simulate. The same input gives the same bytes.
package replay
