// Package access decides who may do what: callers with their permissions, the table of
// permissions that each use case needs, API tokens, audit records, and the errors that
// refuse a request.
//
// Servers and the command line put the Caller into the context; use cases call Authorize.
// It makes no decisions about capacity and renders nothing. Tokens go to the store.
package access
