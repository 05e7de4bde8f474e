// Package pki keeps the installation's keys and what is proven with them (spec §54-57): the
// certificate authorities for runners and the manager, single-use enrollment tokens, and
// the keys of ownership proofs.
//
// A key file is written once and never changed, since agents, stored tokens and tagged
// resources depend on it. Beside key files it does no I/O: it reads no clock, network or
// store. Callers check expiry where an expired proof may still be accepted. agentserver
// and orders use it; keys manages rotation.
package pki
