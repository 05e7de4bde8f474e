// Package planner decides how many instances every fleet should have, and which
// ones start, drain or are withdrawn to get there.
//
// Plan is a pure function of its Input: no clock, no I/O, no dependence on map
// or input order, so the same input gives the same bytes. It decides only
// about capacity, never about jobs (spec §25, §126). Every number comes with the chain
// of bounds that made it (spec §184, §185). Input comes from the loop (what is) or
// plans (what would be); Output goes to the loop, which acts on it, and to
// view, which shows it.
package planner
