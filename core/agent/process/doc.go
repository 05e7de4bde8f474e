// Package process starts the processes of jobs, finds all processes of a job, signals
// them, and proves that none is left, as far as each operating system allows.
//
// On Linux the agent adopts processes that a job leaves behind; on macOS a job is its
// process group; on Windows it is a job object.
package process
