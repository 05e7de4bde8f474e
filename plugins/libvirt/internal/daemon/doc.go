// Package daemon is the way to one libvirt daemon: a connection that is made when
// it is needed and made again when it is lost, and calls that end.
//
// The library under it has neither contexts nor deadlines: a daemon that stops
// answering would hold a caller for ever. So every call has a limit, and passing
// it costs the connection, which gives all of its callers an end. A refusal,
// a call that was never sent and an unknown outcome are three different errors.
//
// It never decides what to call, and repeats only what can't have changed
// anything.
package daemon
