// Package ownership makes and checks the proof that a provider's resource is
// ours [160]: a tag that nobody without the installation's ownership key can
// make for other values than it was made for.
//
// It is pure: keys come in as bytes, and nothing here reads files, clocks or
// randomness. enroll keeps the keys, the loop puts proofs into requests and
// checks those that inspections show before anything is deleted. A proof says
// who made a resource. It doesn't say that there is one of it: whoever copies a
// resource copies its tags.
package ownership
