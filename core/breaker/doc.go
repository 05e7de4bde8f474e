// Package breaker remembers where a provider had no room, so that nothing asks
// there again before its time [165].
//
// Circuits is a plain value: provisions that ended for lack of capacity or quota
// open a circuit, time half opens it, one operation then probes it, and a machine
// that is made closes it. The clock and the randomness come in as parameters. The
// planner reads it, reconcile keeps it in memory and tells it how operations end.
// It never decides what is made. It may be lost at any instruction: then every
// offer is tried once more.
package breaker
