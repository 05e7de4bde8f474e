// Package access is who asks for something and what they may do: callers with
// their permissions, the table of what each use case needs, API tokens, audit
// records, and the errors that refuse a request.
//
// Surfaces put the Caller into the context, use cases call Authorize. It decides
// nothing about capacity and renders nothing.
package access
