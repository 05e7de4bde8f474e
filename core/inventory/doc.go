// Package inventory is what is known of the resources that providers list: what an
// inspection shows, whose each resource is, which of ours have no live record, and
// what an ended instance left behind.
//
// The loop hands inspections and its instances in and asks what they mean. Provider
// and Removals are memory that may be lost at any instruction; everything else is a
// function of its arguments.
//
// It never calls a provider, moves no instance and stores nothing. What isn't proven
// to be ours is foreign, and nobody may delete it [157, 159, 160].
package inventory
