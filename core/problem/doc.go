// Package problem is the answer to a failed HTTP request (RFC 9457), shared by the
// manager's API, the reference scheduler and the clients of schedulers.
//
// It never contains values of the request, which may be secret. The API for agents has a
// type of its own (agentapi.Problem), since the agent imports the standard library only.
package problem
