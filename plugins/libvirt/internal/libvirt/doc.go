// Package libvirt is the provider "libvirt": an instance is a virtual machine on
// one of the hosts of the block.
//
// A domain is the first thing that an instance has and the last that goes. Its
// name is the key, and its definition carries the tags and the proof, so the
// daemon makes a machine and its ownership in one step. Everything else of an
// instance is named after the key, on the same host:
//
//	domain KEY                                  with tags and proof in its metadata
//	volume INSTALLATION.KEY.qcow2               its disk, an overlay of the image
//	volume INSTALLATION.KEY.seed.iso            the first-boot document, secret
//	its NVRAM                                   with UEFI; the daemon's own file
//
// Two marks in the metadata say how far it got: started, set just before the
// start, after which the machine is never started again; and terminating, set
// before the end begins. So a crash of anything at any moment leaves a state that
// the next look understands.
//
// The package never decides what runs, and keeps in memory only what it could do
// without.
package libvirt
