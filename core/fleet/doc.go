// Package fleet has the domain types of the specification: fleets, instances,
// operations, runners, definitions and resources, as plain values.
//
// Rules of validity are methods of the values. The package does no I/O, reads no clock
// and logs nothing. Values come from config (declared), pluginhost (observed) and
// agentserver (recorded), and go to store, loop and planner.
package fleet
