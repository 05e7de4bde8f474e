// Package reviewos is the adapter for ReviewOS, to the letter of its page
// "Autoscaling runners": what it says of its queues is read from /api/metrics, and
// everything about runners is an operation of /api/instance/fleet.
//
// It tells the state of no single runner, gives a runner's credential once, and
// what was told to stop never works again. docs/reviewos.md says which of the calls
// aren't on that page and are taken for granted.
package reviewos
