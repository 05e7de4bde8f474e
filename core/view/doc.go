// Package view is the read model: what people see of fleets and instances, in
// the terminal and as JSON, made once so that every surface shows the same
// numbers.
//
// It turns the stored state into plain, sorted values and never writes. State
// comes from the store; the desired numbers and their reasons come from the
// planner, run on that same state.
package view
