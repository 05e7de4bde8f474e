// Package api puts installation.Service on the wire: JSON over HTTP under /v1, for
// people's tools over TLS with a token, and for this machine's owner over a unix
// socket that knows its peer by the operating system.
//
// The handler authenticates, asks the one table of permissions, reads requests
// within bounds and says errors as problem details; the service does everything
// else. The client is a installation.Service again, with the same errors, so that a
// command doesn't know whether a manager is in its process or far away. The
// OpenAPI document is made from the routes.
package api
