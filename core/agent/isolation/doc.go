// Package isolation selects the OS user of jobs, gives them folders and an environment,
// and keeps isolated jobs from the agent's files, the cloud's metadata service and the
// files of other jobs.
//
// An isolated job has a user that nothing else on the host uses. A helper process, the
// agent's own program started as root, becomes that user permanently before the job
// starts. A second one with the same credentials tries to access what a job must not
// access; the host is reported as isolated only if every try fails.
package isolation
