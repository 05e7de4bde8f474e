// Package forgeyard is the adapter for schedulers that implement the fleet manager's
// own contract: JSON over HTTP with a bearer token, described in docs/scheduler-api.md.
//
// It converts between the wire types, which it shares with the reference scheduler, and
// the types of scheduler. It keeps no state about jobs or runners.
package forgeyard
