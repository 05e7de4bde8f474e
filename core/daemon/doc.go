// Package daemon is the one writer of an installation: it takes the writer's lock,
// opens the store, puts the use cases together, wires agents' endpoint, plugins,
// schedulers, loop and executor, and owns their start and their ordered end.
//
// It never renders and never decides about capacity. Listeners, clocks and the
// environment are handed in.
package daemon
