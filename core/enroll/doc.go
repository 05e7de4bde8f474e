// Package enroll is the manager's side of enrollment and heartbeats [54-57, 77]:
// the installation's certificate authority, single-use tokens, short-lived
// client certificates, and the endpoints of agentapi.
//
// It records facts about runners and never a verdict: what an agent says of
// itself is evidence that the loop judges at admission. Facts come from agents
// over TLS and go to the store, those of heartbeats in batches; after a fact
// that somebody waits for is stored, the loop is woken. What an agent is told is
// derived from the stored state of its instance on every call.
package enroll
