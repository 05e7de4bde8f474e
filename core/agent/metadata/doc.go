// Package metadata asks the metadata service of the cloud that a host runs on for notices
// of interruption and maintenance, and for the signed document that proves which instance
// the host is.
//
// It asks only where the host's firmware names the platform, never through a proxy and
// never along a redirect.
package metadata
