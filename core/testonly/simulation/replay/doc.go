// Package main is the command replay: it runs one seed of the fault simulation and
// prints what happened, step by step. It is part of no binary that is shipped.
package main
