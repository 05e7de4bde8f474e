// Package forgeyard is the adapter for schedulers that speak the fleet manager's
// own contract: JSON over HTTP with a bearer token, described in
// docs/scheduler-api.md. The wire types are shared with the reference scheduler.
package forgeyard
