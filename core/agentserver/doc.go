// Package agentserver is the manager's HTTPS endpoint for agents (spec §54-57, §77): it
// answers enroll, renew, heartbeat and leave, and serves the agent's binary.
//
// It records facts about runners and makes no decisions: what an agent reports is evidence
// that the loop evaluates at admission. Facts come from agents over TLS and go to the
// store, those of heartbeats in batches; then the loop is woken if it waits for them. What
// an agent is told is derived from the stored state of its instance on every call.
// Certificates and tokens are made and verified by pki.
package agentserver
