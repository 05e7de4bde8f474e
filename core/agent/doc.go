// Package agent is the agent as a library: what forgeyard-runner does on a host.
//
// It makes a key, enrolls once, sends heartbeats, and runs the command that the manager
// gives it. It makes no decisions about the fleet: each answer of the manager says what
// the agent is to do, and a missing answer changes nothing. It reports what it observes on
// this host.
//
// The runner (runner*.go) is the state machine: one goroutine owns it; calls, probes and
// jobs run beside it. Sub-packages are isolation (users and folders of jobs), process
// (process groups), metadata (the cloud's notices and identity document) and lockfile.
// All import only the standard library, golang.org/x/sys, agentapi, plainjson and
// replacefile, so that the binary stays small and static.
package agent
