// Package executor runs the loop in real time: it owns the ticker, the goroutines and
// the deadlines, carries out the loop's effects at plugins and schedulers, and returns
// each answer to the loop as an event.
//
// It makes no decisions. Effects come from the loop, calls go to pluginhost and
// scheduler, and the result of each step goes to the observer that daemon passes in.
// The loop itself runs on one goroutine.
package executor
