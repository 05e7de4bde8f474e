// Package agentserver is the manager's HTTPS endpoint for agents [54-57, 77]: it
// answers the calls of agentapi (enroll, renew, heartbeat, leave) and offers the
// agent's binary for download.
//
// It records facts about runners and makes no decisions: what an agent reports is
// evidence that the loop evaluates at admission. Facts come from agents over TLS and go
// to the store, those of heartbeats in batches; after a fact that the loop waits for is
// stored, the loop is woken. What an agent is told is derived from the stored state of
// its instance on every call. Certificates and tokens are pki's.
package agentserver
