// Package agentapi has the wire types between the manager and the agent on a host: JSON
// over TLS, always started by the agent.
//
//	POST /v1/enroll             EnrollRequest → EnrollResponse (pinned TLS, token)
//	POST /v1/runners/heartbeat  Heartbeat → HeartbeatResponse  (client certificate)
//	POST /v1/runners/renew      RenewRequest → Certificate     (client certificate)
//	POST /v1/runners/leave      LeaveRequest → {}              (client certificate)
//	GET  /v1/runner/download?target=OS-ARCH → the agent binary (pinned TLS)
//
// It has no logic. Durations are whole seconds or, where named so, milliseconds; times
// are RFC 3339 in UTC. A refused call is answered by a Problem.
package agentapi
