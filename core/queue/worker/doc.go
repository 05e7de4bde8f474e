// Package worker takes jobs from a forgeyard-queue for one runner and runs each in a
// process group and a folder of its own, with a clean environment.
//
// It renews each job's lease, sends the end of its output and delivers its result, even
// if answers are lost. It runs only jobs that it holds a lease for, and makes no decisions
// about jobs. It is linked into the agent's binary and imports the standard library only.
package worker
