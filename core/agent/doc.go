// Package agent is the runner's library: what forgeyard-runner does on a host.
//
// It makes a key, enrolls once, keeps a heartbeat, and runs the command that it
// is told in a process group that it can prove empty afterwards. It decides
// nothing about the fleet: every answer of the manager carries what is wanted
// now, and an answer that doesn't come changes nothing. What it reports is what
// it sees on this host.
//
// It imports the standard library, golang.org/x/sys and agentapi only, so that
// the binary stays small and static.
package agent
