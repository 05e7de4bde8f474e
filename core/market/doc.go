// Package market is what is known of the providers' markets: what they offer, and
// where there was no room, so that nothing asks there again before its time [165].
//
// Lists and Circuits are plain values in memory. The loop asks markets when Lists
// says so and hands both the answers: what a market listed, and how provisions
// ended. A provision that ended for lack of capacity or quota opens a circuit, time
// half opens it, one operation then probes it, and a machine that is made closes it.
// The planner reads them. Clock and randomness come in as parameters.
//
// It never decides what is made and calls nobody. All of it may be lost at any
// instruction: then each market is asked and every offer is tried once more.
package market
