// Package inventory decides what the resources that providers list mean: what an
// inspection shows, who owns each resource, which of ours have no live record (orphans),
// and what an ended instance left behind (dangling resources).
//
// The loop passes in inspections and its instances. Provider and Removals are memory that
// may be lost at any instruction; everything else is a function of its arguments.
//
// It calls no provider, moves no instance and stores nothing. A resource that isn't proven
// ours is foreign and must not be deleted (spec §157, §159, §160).
package inventory
