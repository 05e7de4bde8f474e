// Package simulation runs the real loop.Loop in virtual time against a
// simulated cloud, scheduler, agents and store, lets a seed decide what goes
// wrong and when, and holds the invariants of section 298 after every step.
//
// One seed is one byte-identical log: nothing here reads a clock, starts a
// goroutine or depends on the order of a map. It never decides what the loop
// should do; it only knows what must never be seen, and what must be so once the
// faults stop. Data comes from a seed and goes to a Report.
package simulation
