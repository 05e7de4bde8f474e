// Package version holds the version that all binaries of a build share.
package version

// Version is a semantic version; a release build sets it with -ldflags -X.
var Version = "0.1.0"
