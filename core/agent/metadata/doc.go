// Package metadata reads the metadata service of the cloud that a host runs on: notices
// of interruption and maintenance, and the signed document that identifies the instance.
//
// It makes requests only if the host's firmware names the platform, never through a proxy,
// and follows no redirects. The agent sends what it finds to the manager.
package metadata
