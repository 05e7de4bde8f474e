// Package pki holds the installation's keys and what is proven with them [54-57]: the
// certificate authorities that sign runners' client certificates and the manager's
// server certificate, the single-use enrollment tokens, and the keys of ownership
// proofs.
//
// A key file is made once and never written again, since agents, stored tokens and
// tagged resources depend on it. Nothing here reads a clock, the network or the
// store; expiry is checked by the caller where an expired proof may still count.
package pki
