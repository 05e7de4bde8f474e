// Package ec2sim is a small account of the cloud in one process: EC2 and what
// the plugin uses beside it, on the real wire formats, with state.
//
// It is for tests that must see what real machines would do to us: a client
// token that comes twice, lists that lag, an answer that is lost after the
// effect, a page that ends early, no capacity. It imports no SDK: it was written
// from the formats, so that it and the SDK are two readings of them.
//
// It starts no goroutine. Whatever time alone brings about happens when the
// next request comes, at the moment the clock of [Options] gives, so it is the
// same in real time, under testing/synctest, and with [Simulator.Advance].
//
// What it doesn't do: it doesn't check the figures of a signature (only that
// there is one, and its scope), knows no policies but faults that refuse, and
// holds no network: addresses are there to be shown.
package ec2sim
