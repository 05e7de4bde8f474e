// Package isolation decides as which OS user jobs run, gives them their folders and
// environment, and keeps isolated jobs from the agent's files, the cloud's metadata
// service and what other jobs left.
//
// An isolated job has a user that nothing else on the host uses. A helper process, the
// agent's own program started again as root, becomes that user for good before the job
// begins; another one with the same credentials tries what a job must not be able to,
// and only if it fails at all of it the host is called isolated.
package isolation
