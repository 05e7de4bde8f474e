// Package queue is the reference scheduler: a small, honest job queue in memory
// that speaks the fleet manager's own contract (docs/scheduler-api.md). Jobs come
// in over HTTP, admitted runners' workers lease them one by one, and demand and
// leases are shown to the manager. It isn't a CI system: it knows no repositories,
// no pipelines and no users, and what it holds ends with its process. It never
// gives a job to two runners, and never a lease to a cordoned runner.
package queue
