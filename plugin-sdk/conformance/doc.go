// Package conformance is the rules that every provider plugin keeps, in whatever
// language it is written, as checks over the wire.
//
// Run asks a Launcher for running plugins, calls them as the manager does (and
// ends them where the manager wouldn't), and tells of each rule whether it holds.
// It never knows a provider by name, and learns nothing that the contract doesn't
// say. It creates nothing unless Options allow it, and removes what it created.
//
// Two front ends share it: provider/providertest for the tests of a plugin in Go,
// and the command "forgeyard-fleet plugin test" for the built binary.
package conformance
