// Package ownership makes and verifies the proof that a provider's resource is ours
// (spec §160): a tag that can't be made for other values without the installation's key.
//
// It is pure: keys are passed in as bytes, and it reads no files, clock or randomness. pki
// keeps the keys; the loop puts proofs into requests and verifies those of an inspection
// before anything is deleted. A proof says who made a resource. It doesn't prove that the
// resource is unique, since a copy of a resource has the same tags.
package ownership
