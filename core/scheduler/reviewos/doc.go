// Package reviewos is the adapter for ReviewOS, as its page "Autoscaling runners"
// describes it: queues are read from /api/metrics, and everything about runners is an
// operation of /api/instance/fleet.
//
// ReviewOS doesn't report the state of single runners, gives a runner's credential only
// once, and can't take a stop back. docs/reviewos.md lists the assumptions about calls
// that the page doesn't describe.
package reviewos
