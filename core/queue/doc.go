// Package queue is the reference scheduler: a small job queue in memory that implements
// the fleet manager's contract (docs/scheduler-api.md).
//
// Jobs come in over HTTP, the workers of admitted runners lease them one at a time, and
// demand and leases are shown to the manager. It isn't a CI system: it has no
// repositories, pipelines or users, and its jobs are lost when its process ends. It never
// gives a job to two runners, and never a lease to a cordoned runner.
package queue
