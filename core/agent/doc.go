// Package agent is the runner's library: what forgeyard-runner does on a host.
//
// It makes a key, enrolls once, sends heartbeats, and runs the command that the
// manager gives it. It decides nothing about the fleet: every answer of the manager
// carries what is wanted now, and a missing answer changes nothing. It reports what it
// observes on this host.
//
// The runner (runner*.go) is the state machine: one goroutine owns it, and calls, probes
// and jobs run beside it. Sub-packages hold what it works with: isolation (users and
// folders of jobs), process (process groups), metadata (the cloud's notices and identity
// document) and lockfile. All import only the standard library, golang.org/x/sys,
// agentapi, plainjson and replacefile, so that the binary stays small and static.
package agent
