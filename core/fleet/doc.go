// Package fleet is the domain: the nouns of the specification as plain values.
//
// It holds what a fleet file declares (Definition), what the store remembers
// (CapacityInstance, Operation, Runner, Decision) and what the outside reports
// (Resource, Inspection). Validity rules are methods on the values.
// It never does I/O, never reads a clock and never logs. Data comes from config
// (declared), pluginhost (observed) and agentserver (recorded), and goes to the
// planner, loop and the store.
package fleet
