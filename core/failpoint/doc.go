// Package failpoint names the points of the manager at which crash tests end it.
//
// In a build with the tag failpoint one point can be armed from outside: a process ends
// at it, or passes it. A point makes no decision, returns no error and doesn't delay. In
// every other build a point is an empty function, and its name isn't in the binary.
//
// To add a point: a line in points.go, a call of its Hit, and a line in the matrix of
// cmd/e2e that reaches it. The matrix fails without that line.
package failpoint
