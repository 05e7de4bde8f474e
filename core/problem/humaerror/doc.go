// Package humaerror makes problems of the requests that huma itself refuses. Huma has one
// hook for the whole program, so servers import this package instead of setting it.
package humaerror
