// Package replay answers what a fleet file would have done with jobs of the past:
// it runs a trace of jobs through the real planner in virtual time, and measures
// how long they waited and what the hosts cost.
//
// Hosts, boots and the scheduler are models here, and nothing goes wrong in them;
// faults are core/testonly/simulation's. It launches no plugin, reads no clock and decides
// nothing by itself. The trace comes from a CSV file, the fleets from config; the
// Result goes to the caller, which shows it. The same input gives the same bytes.
package replay
