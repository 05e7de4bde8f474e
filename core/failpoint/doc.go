// Package failpoint names the points of the manager at which the crash tests
// end it. In every other build a point is an empty function that is inlined: it
// costs nothing, and not even its name is in the program.
//
// With the build tag failpoint one point can be armed from outside. It never
// decides anything for the program, never returns an error and never delays:
// a process either dies at a point or passes it.
//
// To add one: a line in points.go, a call of its Hit where it lies, and a line
// in the matrix of cmd/e2e that reaches it; the matrix fails without.
package failpoint
