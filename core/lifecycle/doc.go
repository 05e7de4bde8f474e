// Package lifecycle has the state machines of instances and operations as tables
// (spec §46, §51): which transition each cause allows, which states count as footprint and
// which as capacity, the deadline of each state, and what an agent is told in it.
//
// It changes no state and reads no clock. The loop asks it, with the facts that were
// observed, and stores the result; planner and agentserver read the same tables.
package lifecycle
