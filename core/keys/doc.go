// Package keys manages the installation's own keys: which kinds exist, which keys are in
// use, their files, their rotation, and when nothing needs an old key any more.
//
// Keys come from files of pki, and which of them are in use from the store. They go to
// agentserver, loop and daemon for signing, enrollment and proofs. It never shows a secret.
package keys
