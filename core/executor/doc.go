// Package executor runs the loop in real time: it owns the ticker,
// the goroutines and the deadlines, carries the loop's effects out against
// provider plugins and hands every answer back as an event.
//
// It decides nothing. Effects come from the loop, calls go to pluginhost, and
// the result of a step goes to the observer (control). The loop itself runs
// on one goroutine.
package executor
