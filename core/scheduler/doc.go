// Package scheduler is the port to the CI system that owns jobs and leases, and
// its adapters, one folder each. Demand and the state of runners come in; what
// was admitted, and which runners get no new work, goes out. It never decides
// placement, never starts a job and never concludes anything from an answer that
// didn't come.
package scheduler
