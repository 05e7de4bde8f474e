// Package agentapi is what the manager and the agent on a host say to each
// other: JSON over TLS, always begun by the agent.
//
//	POST /v1/enroll             EnrollRequest → EnrollResponse (pinned TLS, token)
//	POST /v1/runners/heartbeat  Heartbeat → HeartbeatResponse  (client certificate)
//	POST /v1/runners/renew      RenewRequest → Certificate     (client certificate)
//	POST /v1/runners/leave      LeaveRequest → {}              (client certificate)
//	GET  /v1/runner/download?target=OS-ARCH → the agent binary (pinned TLS)
//
// It holds wire types and nothing else. Durations are whole seconds or, where
// named so, milliseconds; times are RFC 3339 in UTC. Errors are Problem.
package agentapi
