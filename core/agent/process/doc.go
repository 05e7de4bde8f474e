// Package process starts the processes of jobs, finds all that belong to a job, signals
// them, and proves that none is left, on each system as far as it allows.
//
// On Linux the agent adopts what a job's processes leave behind; on macOS a job is its
// process group; on Windows it is a job object.
package process
