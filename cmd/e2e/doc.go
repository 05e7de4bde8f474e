// Package e2e holds no code: its tests drive the built programs as a person
// does, with a real plugin process, real agents and real sockets on loopback.
//
// They are for what only the whole shows: exit codes and messages, what a killed
// process leaves behind, that nothing is made twice, nothing is leaked and
// nothing is left. They are not for the rules behind it, each of which has its
// test in the package that keeps it and can be tried there in microseconds.
//
// The crash matrix (TestCrash…, make crash) kills the manager and the plugin at
// every point that they name, in builds of their own. Other tests kill what has
// no points, or at moments that can be seen from outside.
//
// Nothing here waits for time to pass: a test waits for a line of output, a file
// or the end of a process, each with a deadline that only a failure reaches.
// Processes are found by /proc, so the tests run on linux.
//
// The go command can't see which programs the tests build. Pass -count=1 after
// a change elsewhere in the repository.
package e2e
