// Package control is the use cases: read a workspace, plan, apply, run the
// manager and stop it in order, look at what is.
//
// Each use case is one function or method that the command line calls and
// renders; a daemon and its clients will call the same. It holds the writer's
// lock, opens the store, wires enrollment, plugins, loop and executor together,
// and owns their start and their end. It never renders and never decides about
// capacity. Listeners, clocks and the environment are handed in.
package control
