// Package daemon is the way to one libvirt daemon: a connection that is made when
// it is needed and made anew when it is lost, and calls that end.
//
// The library under it has neither contexts nor deadlines: a daemon that stops
// answering would hold a caller for ever. So every call has a limit, and passing
// it costs the connection, which gives all of its callers an end. What was
// answered, what was never sent and what nobody knows are three different errors.
//
// It never decides what to call, and repeats only what can't have changed
// anything.
package daemon
